"""What keeps a message between two participants: certificates, envelopes, bytes, and the ledger of what left."""
