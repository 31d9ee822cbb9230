import { createHash, randomBytes } from 'node:crypto'
import { type Change, change, type Database, insertInto, query } from '@warder/storage'
import { fromBase32, toBase32 } from '../base32.ts'

/** Codes that replace a lost second factor, each once. */
const recoveryCodeCount = 10
/** 128 random bits: their hash needs neither salt nor a slow function (SP 800-63B §3.1.2.2). */
const codeBytes = 16
const form = /^[A-Z2-7]{26}$/

const insert = insertInto<[hash: Uint8Array, realm: string, username: string, at: number]>('recovery_code', [
  'code_hash',
  'realm_id',
  'username',
  'created_at',
])
const use = query<[hash: Uint8Array, realm: string, username: string], unknown>(
  'DELETE FROM recovery_code WHERE code_hash = ? AND realm_id = ? AND username = ?',
)
const removeAll = query<[realm: string, username: string], unknown>(
  'DELETE FROM recovery_code WHERE realm_id = ? AND username = ?',
)
const removeUseless = query<
  [realm: string, username: string, ...[string, string], ...[string, string]],
  unknown
>(
  `DELETE FROM recovery_code WHERE realm_id = ? AND username = ?
     AND NOT EXISTS (SELECT 1 FROM totp t WHERE t.realm_id = ? AND t.username = ?)
     AND NOT EXISTS (SELECT 1 FROM passkey p WHERE p.realm_id = ? AND p.username = ?)`,
)
const count = query<[realm: string, username: string], { readonly count: number }>(
  'SELECT COUNT(*) AS count FROM recovery_code WHERE realm_id = ? AND username = ?',
)

const hashBytes = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()

/** Base32 in lower case, in groups of five characters. */
function formatCode(bytes: Uint8Array): string {
  return (
    toBase32(bytes)
      .toLowerCase()
      .match(/.{1,5}/g) ?? []
  ).join('-')
}

/**
 * Returns the hash of a recovery code, ignoring case, blanks and hyphens; undefined for other texts, such as TOTP
 * codes.
 */
export function hashRecoveryCode(text: string): Uint8Array | undefined {
  const plain = text.replaceAll(/[\s-]/g, '').toUpperCase()
  const bytes = form.test(plain) ? fromBase32(plain) : undefined
  return bytes === undefined ? undefined : hashBytes(bytes)
}

/**
 * Replaces the recovery codes of a user.
 * @returns the codes, to be shown once, and the changes that store their hashes
 */
export function renewRecoveryCodes(
  realm: string,
  username: string,
  now: number,
): { readonly codes: readonly string[]; readonly changes: readonly Change[] } {
  const secrets = Array.from({ length: recoveryCodeCount }, () => randomBytes(codeBytes))
  return {
    codes: secrets.map(formatCode),
    changes: [
      recoveryCodesRemoval(realm, username),
      ...secrets.map((bytes) => change(insert, [hashBytes(bytes), realm, username, now])),
    ],
  }
}

/** Consumes a code. A guard: of concurrent uses, one succeeds. */
export function recoveryCodeUse(hash: Uint8Array, realm: string, username: string): Change {
  return change(use, [hash, realm, username], 1)
}

export function recoveryCodesRemoval(realm: string, username: string): Change {
  return change(removeAll, [realm, username])
}

/** Removes the codes of a user whose last second factor was removed earlier in the same commit. */
export function uselessCodesRemoval(realm: string, username: string): Change {
  return change(removeUseless, [realm, username, realm, username, realm, username])
}

/** Number of unused codes. */
export async function countRecoveryCodes(db: Database, realm: string, username: string): Promise<number> {
  return (await db.get(count, [realm, username]))?.count ?? 0
}
