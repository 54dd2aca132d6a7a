"""Theme and time zone, as people choose them for the dashboard."""

import sqlalchemy as sa
from alembic import op

revision = "0050_display_of_people"
down_revision = "0049_one_webhook_system"


def upgrade() -> None:
    for name in ("theme", "time_zone"):
        column = sa.Column(name, sa.Text, nullable=False, server_default="")
        op.add_column("person", column)
