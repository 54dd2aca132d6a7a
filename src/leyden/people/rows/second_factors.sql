-- Authenticators, recovery codes and passkeys.

-- name: totp
SELECT sealed, confirmed, last_step
FROM totp
WHERE user_id = :user_id;

-- name: keep_totp
-- Never replaces one that is confirmed.
INSERT INTO totp (user_id, sealed, confirmed, last_step)
VALUES (:user_id, :sealed, NULL, 0)
ON CONFLICT (user_id) DO UPDATE
SET sealed = excluded.sealed, last_step = excluded.last_step
WHERE totp.confirmed IS NULL;

-- name: confirm_totp
UPDATE totp
SET confirmed = :now
WHERE user_id = :user_id
    AND confirmed IS NULL
RETURNING user_id;

-- name: use_step
-- No code is accepted twice, nor one that is older than the last.
UPDATE totp
SET last_step = :step
WHERE user_id = :user_id
    AND last_step < :step
RETURNING user_id;

-- name: remove_totp
DELETE FROM totp
WHERE user_id = :user_id;

-- name: add_recovery_code
INSERT INTO recovery_code (user_id, digest)
VALUES (:user_id, :digest);

-- name: count_recovery_codes
SELECT count(*)
FROM recovery_code
WHERE user_id = :user_id;

-- name: use_recovery_code
-- Returns nothing if the code was used before.
DELETE FROM recovery_code
WHERE user_id = :user_id
    AND digest = :digest
RETURNING user_id;

-- name: remove_recovery_codes
DELETE FROM recovery_code
WHERE user_id = :user_id;

-- name: add_passkey
-- Returns nothing if this passkey is already registered.
INSERT INTO passkey (id, user_id, name, public_key, sign_count, created, last_used)
VALUES (:id, :user_id, :name, :public_key, :sign_count, :created, NULL)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: find_passkey
SELECT *
FROM passkey
WHERE id = :id;

-- name: passkeys
SELECT *
FROM passkey
WHERE user_id = :user_id
ORDER BY created;

-- name: passkey_used
UPDATE passkey
SET sign_count = :sign_count, last_used = :now
WHERE id = :id
RETURNING id;

-- name: remove_passkey
DELETE FROM passkey
WHERE user_id = :user_id
    AND id = :id
RETURNING id;

-- name: remove_passkeys
DELETE FROM passkey
WHERE user_id = :user_id;

-- name: use_challenge
-- Returns nothing if the challenge was used before.
INSERT INTO used_challenge (challenge, until)
VALUES (:challenge, :until)
ON CONFLICT DO NOTHING
RETURNING challenge;

-- name: prune_challenges
DELETE FROM used_challenge
WHERE challenge IN (
    SELECT challenge
    FROM used_challenge
    WHERE until < :now
    LIMIT :limit
)
RETURNING challenge;
