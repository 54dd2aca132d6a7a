-- People's subscriptions to emails about events.

-- name: add
INSERT INTO email_subscription (
    subscription_id, user_id, organization_id, hour_began, hour_sent, sending_to
)
VALUES (:subscription_id, :user_id, :organization_id, :hour_began, 0, 0);

-- name: get
SELECT *
FROM email_subscription
WHERE subscription_id = :subscription_id;

-- name: list
SELECT *
FROM email_subscription
WHERE user_id = :user_id
ORDER BY organization_id;

-- name: count_sent
UPDATE email_subscription
SET hour_began = :hour_began, hour_sent = :hour_sent, sending_to = 0
WHERE subscription_id = :subscription_id;

-- name: hold
-- The content of an email is fixed before it is sent, so a second attempt sends the same.
UPDATE email_subscription
SET sending_to = :sending_to
WHERE subscription_id = :subscription_id;
