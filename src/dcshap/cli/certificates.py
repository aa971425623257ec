"""`dcshap federation certificates …`: by request and approval, so that no private key leaves its owner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcshap.cli.console import DebugOption, output

__all__ = ["certificates"]

certificates = typer.Typer(no_args_is_help=True, help="Certificates by request and approval; no key leaves its owner.")


@certificates.command()
def authority(
    profile: Annotated[Path, typer.Argument(help="The project's profile.")],
    out: Annotated[Path, typer.Option(help="A new folder, to be kept safe.")] = Path("authority"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Make the project's certificate authority. It must not be the analyst.

    Example: `dcshap federation certificates authority credit/profile.yaml --out authority`
    """
    from dcshap.federation.flare.provision import make_authority  # noqa: PLC0415 - an optional extra, as below

    output.print(f"Tell everybody, by another way than the files: {make_authority(profile, out)}", highlight=False)


@certificates.command()
def request(
    participant: Annotated[Path, typer.Argument(help="The participant's own file.")],
    out: Annotated[Path, typer.Option(help="A new folder; the private key stays in it.")] = Path("request"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Make one's own key, and a request for the authority.

    Example: `dcshap federation certificates request bank.yaml --out request`
    """
    from dcshap.federation.flare.provision import request_certificate  # noqa: PLC0415

    output.print(f"Send to the authority: {request_certificate(participant, out)}", highlight=False)


@certificates.command()
def approve(
    requested: Annotated[Path, typer.Argument(metavar="REQUEST", help="A participant's request.")],
    profile: Annotated[Path, typer.Option(help="The project's profile.")],
    ca: Annotated[Path, typer.Option("--authority", help="The authority's folder.")] = Path("authority"),
    out: Annotated[Path, typer.Option(help="The folder for what goes back to the participant.")] = Path("signed"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Sign a request, as the authority.

    Example: `dcshap federation certificates approve bank.request.zip --profile credit/profile.yaml`
    """
    from dcshap.federation.flare import provision  # noqa: PLC0415

    signed = provision.approve(requested, authority=ca, profile=profile, folder=out)
    output.print(f"Send back to the participant: {signed}", highlight=False)


@certificates.command()
def kit(
    signed: Annotated[Path, typer.Argument(help="What the authority sent back.")],
    fingerprint: Annotated[str, typer.Option(help="The authority's, as it was told by another way.")],
    requested: Annotated[Path, typer.Option("--request", help="The folder of one's own request.")] = Path("request"),
    out: Annotated[Path, typer.Option(help="A new folder.")] = Path("kit"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Make one's own kit from the signed request and one's own key.

    Example: `dcshap federation certificates kit bank.signed.zip --request request --fingerprint AA:BB:…`
    """
    from dcshap.federation.flare.provision import make_kit  # noqa: PLC0415

    made = make_kit(signed, request=requested, fingerprint=fingerprint, folder=out)
    output.print(f"The kit of {made.name}: {made.folder}", highlight=False)
