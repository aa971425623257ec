"""Requests under their author's signature, so that no party has to take another's word for who is asking what."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from dcshap._machine import now
from dcshap.exceptions import ProtocolError
from dcshap.explanation.disclosures import Request
from dcshap.federation.seals.envelopes import MAX_AGE, recent
from dcshap.federation.seals.identity import Certificate, Identity

__all__ = ["sign_request", "verify_request"]


def sign_request(request: Request, identity: Identity) -> Request:
    """The request, dated and signed by who asks."""
    dated = replace(request, written=now(), certificate=identity.certificate.pem)
    return replace(dated, signature=identity.sign(_signed_part(dated)))


def verify_request(request: Request, identity: Identity) -> Certificate:
    """The certificate of who asks, if it has signed the request, and lately."""
    author = identity.check(request.certificate, name=request.requester)
    author.require_signature(request.signature, _signed_part(request))
    if not recent(request.written):
        raise ProtocolError(f"A request must be answered within {MAX_AGE:.0f} s. This one is older.")
    return author


def _signed_part(request: Request) -> bytes:
    content = asdict(request)
    del content["signature"], content["enclosure"]  # whose hash is signed
    return json.dumps(content, sort_keys=True).encode()
