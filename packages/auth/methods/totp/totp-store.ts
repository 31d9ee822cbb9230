import { type Change, change, type Database, query, type Seal } from '@warder/storage'
import type { TotpAlgorithm } from './code.ts'

/** The enrollment of one user. The secret is decrypted for one check and then wiped. */
export interface TotpEnrollment {
  readonly realm: string
  readonly username: string
  readonly sealedSecret: Uint8Array
  readonly algorithm: TotpAlgorithm
  /** Seconds. */
  readonly period: number
  /** Last accepted step; it and all earlier steps are used. */
  readonly lastStep: number
}

interface TotpRow {
  readonly sealed_secret: Uint8Array
  readonly algorithm: string
  readonly period: number
  readonly last_step: number
}

const byUser = query<[realm: string, username: string], TotpRow>(
  'SELECT sealed_secret, algorithm, period, last_step FROM totp WHERE realm_id = ? AND username = ?',
)
/** A new enrolment, even with the same secret, does not make used time steps valid again. */
const upsert = query<[string, string, Uint8Array, string, number, number], unknown>(
  `INSERT INTO totp (realm_id, username, sealed_secret, algorithm, period, last_step) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (realm_id, username) DO UPDATE SET sealed_secret = excluded.sealed_secret,
       algorithm = excluded.algorithm, period = excluded.period,
       last_step = CASE WHEN totp.period = excluded.period AND totp.last_step > excluded.last_step
         THEN totp.last_step ELSE excluded.last_step END`,
)
const useStep = query<[step: number, realm: string, username: string, step: number], unknown>(
  'UPDATE totp SET last_step = ? WHERE realm_id = ? AND username = ? AND last_step < ?',
)
const remove = query<[string, string], unknown>('DELETE FROM totp WHERE realm_id = ? AND username = ?')

const sealContext = (realm: string, username: string) => ({
  table: 'totp',
  row: JSON.stringify([realm, username]),
  column: 'sealed_secret',
})

export async function findTotp(
  db: Database,
  realm: string,
  username: string,
): Promise<TotpEnrollment | undefined> {
  const row = await db.get(byUser, [realm, username])
  if (row === undefined) return undefined
  const { sealed_secret, algorithm, period, last_step } = row
  return {
    realm,
    username,
    sealedSecret: sealed_secret,
    algorithm: algorithm as TotpAlgorithm,
    period,
    lastStep: last_step,
  }
}

export async function openTotpSecret(seal: Seal, enrollment: TotpEnrollment): Promise<Uint8Array> {
  return seal.open(sealContext(enrollment.realm, enrollment.username), enrollment.sealedSecret)
}

/** Enrolls a user or replaces the enrollment. `lastStep` is the step that proved the secret, which is thereby used. */
export function totpEnrollment(
  seal: Seal,
  enrollment: Omit<TotpEnrollment, 'sealedSecret'>,
  secret: Uint8Array,
): Change {
  const { realm, username, algorithm, period, lastStep } = enrollment
  const sealed = seal.seal(sealContext(realm, username), secret)
  return change(upsert, [realm, username, sealed, algorithm, period, lastStep])
}

/** Marks a step as used: the commit fails when this step or a later one was used before. */
export function totpStepUse(realm: string, username: string, step: number): Change {
  return change(useStep, [step, realm, username, step], 1)
}

export function totpRemoval(realm: string, username: string): Change {
  return change(remove, [realm, username])
}
