import { createHash, verify, X509Certificate } from 'node:crypto'
import {
  keyPurposes,
  readBasicConstraints,
  readCertificateExtensions,
  readExtendedKeyUsage,
} from '@warder/pki'
import { acmeAccount } from './holders.ts'
import type { Exchange } from './requests.ts'
import type { Snapshot } from './snapshot.ts'
import type { Caller, Count } from './state-oracle.ts'
import type { Thing, World } from './world.ts'

// Judges signatures and certificates by the public keys of the owners.

/** Signatures and certificates that verify under keys of owners. */
export function findSignatures(
  { things }: World,
  { got, signed }: Pick<Exchange, 'got' | 'signed'>,
  { issued }: Snapshot,
  allowed: Caller['allowed'],
): string[] {
  const violations: string[] = []
  // Certificates in the register are judged by their entries.
  const known = new Set([...issued.values()].map(({ fingerprint }) => fingerprint))
  const isKnown = (output: Buffer) => known.has(createHash('sha256').update(output).digest('hex'))
  for (const thing of things) {
    const { publicKey } = thing
    if (publicKey === undefined) continue
    for (const output of got) {
      if (allowed(thing, 'make signature', 'reveal material')) continue
      if (isCertificateBy(output, publicKey) && !isKnown(output) && !allowed(thing, 'make certificate'))
        violations.push(`made a certificate with ${thing.name}`)
      if (signed.some((message) => isSignature(publicKey, message, output)))
        violations.push(`made a signature with ${thing.name}`)
    }
  }
  return violations
}

/** Certificates of the authority in a reply that its profiles do not permit. */
export function findUnfitCertificates(
  { authorityKey: { publicKey } }: World,
  got: readonly Buffer[],
  { by, count }: { readonly by?: string; readonly count: Count },
): string[] {
  return got.flatMap((output) => {
    if (publicKey === undefined || !isCertificateBy(output, publicKey)) return []
    count('certificate in a reply')
    const extensions = readCertificateExtensions(output)
    const purposes = readExtendedKeyUsage(extensions)
    const { subjectAltName = '' } = new X509Certificate(output)
    if (by === acmeAccount && subjectAltName !== 'DNS:localhost')
      return [`made a certificate for names that the account does not control: ${subjectAltName}`]
    const fits = purposes?.every((purpose) => purpose === keyPurposes.serverAuth) === true
    return fits && readBasicConstraints(extensions).authority !== true
      ? []
      : [`made a certificate of the authority beyond its profiles: ${purposes}`]
  })
}

/** Replacements of owners' certificates have their subject, names, key and issuer. */
export async function findAlteredCertificates(
  world: World,
  before: Snapshot,
  after: Snapshot,
  { find, count }: { readonly find: (id: string) => Thing | undefined; readonly count: Count },
): Promise<string[]> {
  const violations: string[] = []
  for (const [id, { object_type: type, owner }] of after.objects) {
    if (type !== 'Certificate' || before.objects.has(id)) continue
    const thing = find(id)
    if (thing === undefined) continue
    const [old, replacement] = await Promise.all(
      [thing.id, id].map((one) => readCertificate(world, String(owner), one)),
    )
    count('replaced certificate')
    for (const member of ['subject', 'subjectAltName', 'issuer'] as const)
      if (old?.[member] !== replacement?.[member]) violations.push(`changed ${member} of ${thing.name}`)
    if (replacement !== undefined)
      violations.push(...findUnfitCertificates(world, [replacement.raw], { count }))
  }
  return violations
}

async function readCertificate(
  world: World,
  owner: string,
  id: string,
): Promise<X509Certificate | undefined> {
  const headers = { accept: 'application/x-pem-file' }
  const answer = await world.user(owner).call('GET', `/v1/pki/certificates/${id}`, { headers })
  return answer.status === 200 ? new X509Certificate(answer.text) : undefined
}

function isCertificateBy(output: Buffer, issuer: X509Certificate['publicKey']): boolean {
  if (output.length < 200 || output[0] !== 0x30) return false
  try {
    return new X509Certificate(output).verify(issuer)
  } catch {
    return false
  }
}

function isSignature(publicKey: X509Certificate['publicKey'], message: Uint8Array, output: Buffer): boolean {
  const type = publicKey.asymmetricKeyType
  try {
    if (type === 'ed25519') return output.length === 64 && verify(null, message, publicKey, output)
    if (type === 'ec') {
      const isFixed = output.length === 64
      if (!isFixed && (output.length < 68 || output.length > 72)) return false
      const key = { key: publicKey, dsaEncoding: isFixed ? 'ieee-p1363' : 'der' } as const
      return verify('sha256', message, key, output)
    }
    return output.length === 256 && verify('sha256', message, publicKey, output)
  } catch {
    return false
  }
}
