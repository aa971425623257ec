"""The desk: a web page where people ask why a prediction came about, and get the same answer everywhere.

- `cases`, `onsite`, `federated`: where cases come from: a run on this machine, or a running federation
- `database`, `journal`, `accounts`, `library`, `reviews`, `enquiries`: what the desk keeps, and who may see it
- `guard`, `routing`, `application`: how a request is let in
- `pages`: one module for each thing that people do
"""
