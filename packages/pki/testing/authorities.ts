import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { nameFromParts } from '../x509/distinguished-name.ts'
import type { Extension } from '../x509/extensions.ts'
import { type Issuer, issueCertificate } from '../x509/issue.ts'

/** The current time of the tests, and a year, in milliseconds. */
export const now: number = Date.UTC(2026, 5, 1)
export const year: number = 365 * 86_400_000

/** A party with a name and a key pair. */
export interface Party {
  /** DER of the name. */
  readonly name: Buffer
  readonly spki: Buffer
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** @param type with options as for `generateKeyPairSync`; default P-256 */
export function party(cn: string, type = 'ec', options: object = { namedCurve: 'P-256' }): Party {
  const pair = generateKeyPairSync(type as 'ec', options as { namedCurve: string })
  const spki = pair.publicKey.export({ format: 'der', type: 'spki' })
  return { name: nameFromParts(cn === '' ? [] : [['CN', cn]]), spki, ...pair }
}

/** The party as an issuer. */
export function toIssuer({ name, spki, privateKey }: Party): Issuer {
  return { name, key: privateKey, spki, keyIdentifier: undefined }
}

/** A certificate of one party, issued by another. */
export function issue(
  subject: Party,
  issuer: Party,
  extensions: readonly Extension[],
  [notBefore, notAfter]: readonly [number, number] = [now, now + year],
): Promise<Buffer> {
  const wanted = { subject: subject.name, spki: subject.spki, notBefore, notAfter, extensions }
  return issueCertificate(wanted, toIssuer(issuer))
}
