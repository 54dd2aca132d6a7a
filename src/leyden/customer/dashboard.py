"""`leyden open`: the platform's dashboard, in your browser."""

import sys
import webbrowser

import click

from leyden.base.cli.output import as_json, print_done
from leyden.customer.session import chosen, profile_option


@click.command("open")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@profile_option
@as_json
def open_(profile_name: str, *, no_browser: bool, as_json: bool) -> None:
    """Open the platform's dashboard in your browser, and print its address.

    \b
    leyden open
    leyden open --profile work --no-browser
    """
    url = f"{chosen(profile_name).url.rstrip('/')}/app/"
    print_done({"url": url}, url, as_json=as_json)
    if not no_browser and not webbrowser.open(url):
        print("leyden: no browser here; open the address in one", file=sys.stderr)
