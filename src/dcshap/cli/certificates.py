"""`dcshap federation certificates …`: by request and approval, so that no private key leaves its owner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dcshap.cli.console import JsonOption, command_group, print_json, tell
from dcshap.cli.sites import CollaborationArgument, KitArgument

__all__ = ["certificates"]

certificates = command_group("Certificates by request and approval; no key leaves its owner.")


@certificates.command()
def authority(
    profile: Annotated[Path, typer.Argument(help="The project's profile.")],
    out: Annotated[Path, typer.Option(help="A new folder, to be kept safe.")] = Path("authority"),
) -> None:
    """Make the project's certificate authority. It must not be the analyst.

    Example: `dcshap federation certificates authority credit/profile.yaml --out authority`
    """
    from dcshap.federation.flare.provision import make_authority  # noqa: PLC0415 - an optional extra, as below

    said = f"Tell everybody, by another way than the files: {make_authority(profile, out)}"
    tell(said)


@certificates.command()
def request(
    participant: Annotated[Path, typer.Argument(help="The participant's own file.")],
    out: Annotated[Path, typer.Option(help="A new folder; the private key stays in it.")] = Path("request"),
) -> None:
    """Make one's own key, and a request for the authority.

    Example: `dcshap federation certificates request bank.yaml --out request`
    """
    from dcshap.federation.flare.provision import request_certificate  # noqa: PLC0415

    tell(f"Send to the authority: {request_certificate(participant, out)}")


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
) -> None:
    """Sign requests, as the authority, after comparing each with the project's list.

    Example: `dcshap federation certificates approve bank.request.zip --profile credit/profile.yaml`
    """
    from dcshap.federation.flare import provision  # noqa: PLC0415

    for request in requested:
        asked = provision.read_request(request)
        tell(
            f"{asked.name} of {asked.organisation} asks to be a {asked.role} of {asked.project}, with the key "
            f"{asked.key}"
        )
        provision.require_listed(asked, participants or profile.parent / "participants")
        if not yes:
            typer.confirm("It is so on the project's list. Is the request from them? Sign it?", abort=True)
        signed = provision.approve(request, authority=ca, profile=profile, folder=out)
        tell(f"Send back to the participant: {signed}")


@certificates.command()
def kit(
    signed: Annotated[Path, typer.Argument(help="What the authority sent back.")],
    fingerprint: Annotated[str, typer.Option(help="The authority's, as it was told by another way.")],
    requested: Annotated[Path, typer.Option("--request", help="The folder of one's own request.")] = Path("request"),
    out: Annotated[Path, typer.Option(help="A new folder.")] = Path("kit"),
) -> None:
    """Make one's own kit from the signed request and one's own key.

    Example: `dcshap federation certificates kit bank.signed.zip --request request --fingerprint AA:BB:…`
    """
    from dcshap.federation.flare.provision import make_kit  # noqa: PLC0415

    made = make_kit(signed, request=requested, fingerprint=fingerprint, folder=out)
    tell(f"The kit of {made.name}: {made.folder}")


@certificates.command()
def show(folder: KitArgument, as_json: JsonOption = False) -> None:
    """Show one's own certificate: its fingerprint is what partners are told when it was renewed.

    Example: `dcshap federation certificates show KIT`
    """
    from dcshap.federation.seals.identity import Identity  # noqa: PLC0415

    own = Identity(folder / "startup").certificate
    found: dict[str, Any] = {"name": own.name, "fingerprint": own.fingerprint, "serial": f"0x{own.serial}"}
    found["valid until"] = own.ends.date().isoformat()
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        tell(f"{name}: {value}")


@certificates.command()
def accept(
    folder: KitArgument,
    collaboration: CollaborationArgument,
    name: Annotated[str, typer.Argument(help="The partner, or the analyst's server, whose certificate was renewed.")],
    fingerprint: Annotated[str, typer.Option(help="The new certificate's, as its owner has told it by another way.")],
) -> None:
    """Accept a partner's renewed certificate, as a party; the first one is remembered until then.

    Example: `dcshap federation certificates accept KIT credit shop --fingerprint AA:BB:…`
    """
    from dcshap.federation.site.configuration import SiteConfig  # noqa: PLC0415
    from dcshap.federation.site.pins import Pins  # noqa: PLC0415

    Pins(SiteConfig.load(folder).state_folder(collaboration)).accept(name, fingerprint)
    tell(f"From now on {name} has the certificate {fingerprint}")


@certificates.command()
def revoke(
    what: Annotated[list[str], typer.Argument(metavar="NAME|SERIAL", help="A participant, or a serial number 0x….")],
    ca: Annotated[Path, typer.Option("--authority", help="The authority's folder.")] = Path("authority"),
) -> None:
    """Revoke certificates, as the authority: all of a name up to now, or one by its serial number.

    Example: `dcshap federation certificates revoke officer@bank.org --authority authority`
    """
    from dcshap.federation.seals.revocation import revoke as revoked  # noqa: PLC0415

    tell(f"Send to every participant: {revoked(ca, what)}")


@certificates.command()
def honour(
    revoked: Annotated[Path, typer.Argument(metavar="LIST", help="The authority's list, revoked.json.")],
    folder: KitArgument,
) -> None:
    """Honour the authority's list of revoked certificates at one's own site; a site that runs does so at once.

    Example: `dcshap federation certificates honour revoked.json KIT`
    """
    from dcshap.federation.seals.revocation import honour as honoured  # noqa: PLC0415

    found = honoured(revoked, folder / "startup")
    tell(f"{len(found.names)} names and {len(found.serials)} serial numbers are revoked.")


@certificates.command()
def renew(
    signed: Annotated[Path, typer.Argument(help="What the authority sent back for the new request.")],
    folder: Annotated[Path, typer.Option("--kit", help="The kit to be renewed.", envvar="DCSHAP_KIT")],
    fingerprint: Annotated[str, typer.Option(help="The authority's, as it was told by another way.")],
    requested: Annotated[Path, typer.Option("--request", help="The folder of the new request.")] = Path("request"),
) -> None:
    """Put a renewed certificate into a kit. What was configured and trained stays; start the site again afterwards.

    Example: `dcshap federation certificates renew bank.signed.zip --kit KIT --request request --fingerprint AA:BB:…`
    """
    from dcshap.federation.flare import provision  # noqa: PLC0415
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415

    provision.renew(signed, request=requested, fingerprint=fingerprint, kit=Kit.load(folder))
    tell(f"{folder} has its new certificate. Start the site again.")
