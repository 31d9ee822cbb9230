import { createHash } from 'node:crypto'
import type { Crl } from '@warder/pki'

/** Contents of the CRLs of the client authorities, as plain data: workers share the memory of `revoked`. */
export interface RevokedCertificates {
  /** First 64 bits of the digest of each revoked certificate (`digestCertificate`), ascending. */
  readonly revoked: SharedArrayBuffer
  /** Client authorities by the digest of their name: until when their CRL holds, in Unix milliseconds. */
  readonly authorities: readonly { readonly name: string; readonly until: number }[]
  /** true: a certificate of an authority without a CRL in force is refused. */
  readonly strict: boolean
  /** Another one for other CRLs: TLS sessions that began under one do not resume under another. */
  readonly version: string
}

/** A CRL of a client authority whose signature was checked. */
export interface AuthorityCrl {
  readonly crl: Crl
  readonly der: Uint8Array
}

/**
 * Names a certificate by issuer and serial number (RFC 5280 §4.1.2.2). 64 bits are enough: a collision refuses a
 * certificate that is good, and never accepts one that was revoked.
 * @param issuer DER of the name
 * @param serial content of the INTEGER
 */
export function digestCertificate(issuer: Uint8Array, serial: Uint8Array): bigint {
  return createHash('sha256').update(issuer).update(serial).digest().readBigUInt64BE(0)
}

/** @param name DER */
export function digestAuthority(name: Uint8Array): string {
  return createHash('sha256').update(name).digest('base64url')
}

/**
 * Builds the table. Of several CRLs of one authority all entries count, and the one that holds longest.
 * @param always DER of the names of authorities that need no CRL
 */
export function buildRevokedCertificates(
  crls: readonly AuthorityCrl[],
  { strict, always = [] }: { readonly strict: boolean; readonly always?: readonly Uint8Array[] },
): RevokedCertificates {
  const count = crls.reduce((sum, { crl }) => sum + crl.count, 0)
  const revoked = new SharedArrayBuffer(count * 8)
  const digests = new BigUint64Array(revoked)
  const until = new Map<string, number>()
  const version = createHash('sha256')
  let index = 0
  for (const { crl, der } of crls) {
    for (const { serial } of crl.entries()) {
      digests[index] = digestCertificate(crl.issuer, serial)
      index += 1
    }
    const name = digestAuthority(crl.issuer)
    until.set(name, Math.max(until.get(name) ?? 0, crl.nextUpdate ?? Number.POSITIVE_INFINITY))
    version.update(der)
  }
  for (const name of always) until.set(digestAuthority(name), Number.POSITIVE_INFINITY)
  digests.sort()
  return {
    revoked,
    authorities: [...until].map(([name, end]) => ({ name, until: end })),
    strict,
    version: version.digest('hex').slice(0, 32),
  }
}

/** Binary search: 17 steps for 100,000 entries. */
export function hasDigest(digests: BigUint64Array, digest: bigint): boolean {
  let low = 0
  let high = digests.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((digests[middle] as bigint) < digest) low = middle + 1
    else high = middle
  }
  return digests[low] === digest
}
