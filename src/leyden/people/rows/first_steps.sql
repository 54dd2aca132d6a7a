-- An organization's progress with the first steps on the dashboard.

-- name: find
-- The first node is the one that the page links to; deleted nodes do not count.
SELECT
    first.id,
    first.has_wallet,
    EXISTS (
        SELECT 1 FROM channel_order
        WHERE organization_id = :organization_id AND status = 'filled'
    ),
    EXISTS (
        SELECT 1 FROM api_key
        WHERE organization_id = :organization_id
    ),
    EXISTS (
        SELECT 1 FROM subscription
        WHERE organization_id = :organization_id AND format <> 'email'
    ) OR EXISTS (
        SELECT 1 FROM subscription_delivery
        JOIN node ON node.id = subscription_delivery.subscription_id
        WHERE node.organization_id = :organization_id
    )
FROM organization
LEFT JOIN node AS first ON first.organization_id = organization.id
    AND (first.wanted <> 'deleted' OR first.process <> '')
WHERE organization.id = :organization_id
ORDER BY first.has_wallet DESC, first.created, first.id
LIMIT 1;
