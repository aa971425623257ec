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

    said = f"Tell everybody, by another way than the files: {make_authority(profile, out)}"
    output.print(said, highlight=False, soft_wrap=True)


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

    output.print(f"Send to the authority: {request_certificate(participant, out)}", highlight=False, soft_wrap=True)


@certificates.command()
def approve(
    requested: Annotated[list[Path], typer.Argument(metavar="REQUEST…", help="Participants' requests.")],
    profile: Annotated[Path, typer.Option(help="The project's profile.")],
    participants: Annotated[
        Path | None, typer.Option(help="The project's list; the folder `participants` beside the profile by default.")
    ] = None,
    ca: Annotated[Path, typer.Option("--authority", help="The authority's folder.")] = Path("authority"),
    out: Annotated[Path, typer.Option(help="The folder for what goes back to the participant.")] = Path("signed"),
    yes: Annotated[bool, typer.Option("--yes", help="Sign what is on the project's list without asking.")] = False,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Sign requests, as the authority, after comparing each with the project's list.

    Example: `dcshap federation certificates approve bank.request.zip --profile credit/profile.yaml`
    """
    from dcshap.federation.flare import provision  # noqa: PLC0415

    for request in requested:
        asked = provision.read_request(request)
        output.print(
            f"{asked.name} of {asked.organisation} asks to be a {asked.role} of {asked.project}, with the key "
            f"{asked.key}",
            highlight=False,
            soft_wrap=True,
        )
        provision.require_listed(asked, participants or profile.parent / "participants")
        if not yes:
            typer.confirm("It is so on the project's list. Is the request from them? Sign it?", abort=True)
        signed = provision.approve(request, authority=ca, profile=profile, folder=out)
        output.print(f"Send back to the participant: {signed}", highlight=False, soft_wrap=True)


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
    output.print(f"The kit of {made.name}: {made.folder}", highlight=False, soft_wrap=True)


@certificates.command()
def renew(
    signed: Annotated[Path, typer.Argument(help="What the authority sent back for the new request.")],
    folder: Annotated[Path, typer.Option("--kit", help="The kit to be renewed.", envvar="DCSHAP_KIT")],
    fingerprint: Annotated[str, typer.Option(help="The authority's, as it was told by another way.")],
    requested: Annotated[Path, typer.Option("--request", help="The folder of the new request.")] = Path("request"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Put a renewed certificate into a kit. What was configured and trained stays; start the site again afterwards.

    Example: `dcshap federation certificates renew bank.signed.zip --kit KIT --request request --fingerprint AA:BB:…`
    """
    from dcshap.federation.flare import provision  # noqa: PLC0415
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415

    provision.renew(signed, request=requested, fingerprint=fingerprint, kit=Kit.load(folder))
    output.print(f"{folder} has its new certificate. Start the site again.", highlight=False, soft_wrap=True)
