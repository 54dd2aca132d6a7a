-- Coupons, and counts of wrong guesses.

-- name: add
INSERT INTO coupon (
    id, sats, organization_id, created, expires, note, claimed_by, claimed_at
)
VALUES (
    :id, :sats, :organization_id, :created, :expires, :note, NULL, NULL
);

-- name: claim
-- Only once, by its organization, before it expires. Returns its value, or nothing.
UPDATE coupon
SET claimed_by = :claimant, claimed_at = :now
WHERE id = :id
    AND claimed_by IS NULL
    AND (organization_id IS NULL OR organization_id = :claimant)
    AND (expires IS NULL OR expires > :now)
RETURNING sats;

-- name: list
-- Issued to the organization, or claimed by it.
SELECT *
FROM coupon
WHERE organization_id = :organization_id
    OR claimed_by = :organization_id
ORDER BY created, id;

-- name: get_many
SELECT *
FROM coupon
WHERE id IN (:ids)
ORDER BY id;

-- name: all
SELECT *
FROM coupon
WHERE id > :after
ORDER BY id
LIMIT :limit;

-- name: count_guess
-- Adds one. The count starts over if it began before `start`, or after `end` (then a
-- clock was set back since).
INSERT INTO coupon_guess (organization_id, since, count)
VALUES (:organization_id, :now, 1)
ON CONFLICT (organization_id) DO UPDATE
SET since = CASE
        WHEN coupon_guess.since NOT BETWEEN :start AND :end THEN excluded.since
        ELSE coupon_guess.since
    END,
    count = CASE
        WHEN coupon_guess.since NOT BETWEEN :start AND :end THEN 1
        ELSE coupon_guess.count + 1
    END;

-- name: guesses
SELECT count, since
FROM coupon_guess
WHERE organization_id = :organization_id
    AND since BETWEEN :start AND :end;
