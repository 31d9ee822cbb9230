import { X509Certificate } from 'node:crypto'
import { findBySerial, issuerId, possibleIssuers } from '@warder/authority'
import { type ManagedObject, stateAt } from '@warder/keys'
import {
  type Crl,
  maxChainLength,
  type ParsedCertificate,
  type PathResult,
  parseCertificate,
  readCrlDistributionPoints,
  urlsIn,
  type Validity,
  validatePath,
} from '@warder/pki'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure } from '../../failure/failure.ts'

/** Maximum number of addresses from which one validation fetches CRLs. */
const maxAddresses = 4

/**
 * Was the object revoked, compromised or destroyed? Passed dates do not count here: validation checks those of the
 * certificate.
 */
export function isEnded({ now }: KmipContext, object: ManagedObject): boolean {
  const state = stateAt(object, now)
  if (state === 'Deactivated') return object.revocationReason !== undefined
  return state !== 'Active' && state !== 'PreActive'
}

/**
 * Validates the chain that these certificates form (RFC 5280 §6). Local authorities that the caller may validate
 * complete it. The roots among all of these are the trust anchors; there are no others.
 * @param certificates DER, in any order
 * @param at Unix milliseconds
 * @throws PkiError for an invalid certificate
 */
export async function chainValidity(
  context: KmipContext,
  certificates: readonly Uint8Array[],
  at: number,
): Promise<Validity> {
  const given = unique(certificates)
  for (const der of given) parseCertificate(der)
  const end = findEnd(given)
  if (end === undefined) return 'Invalid'
  const stored = await issuersAbove(context, given)
  if (stored === 'ended') return 'Invalid'
  const all = [...given, ...stored]
  const roots = all.filter(isSelfIssued)
  if (!roots.every(isSignedByItself)) return 'Invalid'
  const question = { certificate: end, anchors: roots, others: all, at }
  const found = validatePath(question)
  if (found.validity !== 'Valid') return found.validity
  const register = await findRegistered(context, found)
  if (register.isRevoked) return 'Invalid'
  const crls = await fetchCrls(context, register.others)
  if (crls.length === 0) return decideValidity(context, found, register.others)
  const result = validatePath({ ...question, revocation: { crls, responses: [], required: false } })
  return decideValidity(context, result, register.others)
}

/** Decides whether revocation is known well enough for certificates that name a CRL. */
function decideValidity(
  { services }: KmipContext,
  { validity, path, revocation }: PathResult,
  told: readonly ParsedCertificate[],
): Validity {
  if (validity !== 'Valid' || !services.requireRevocation) return validity
  const isOpen = path.some((der, index) => {
    const names = told.some((each) => Buffer.compare(each.der, der) === 0 && addressesIn(each).length > 0)
    return names && (revocation[index]?.kind ?? 'undetermined') === 'undetermined'
  })
  return isOpen ? 'Unknown' : 'Valid'
}

/**
 * The only certificate that did not issue another one (KMIP 2.1 §6.1.57: a request is about a single chain).
 */
function findEnd(certificates: readonly Uint8Array[]): Uint8Array | undefined {
  const read = certificates.map((der) => ({ der, x509: new X509Certificate(der) }))
  const ends = read.filter((one) => !read.some((other) => other !== one && other.x509.checkIssued(one.x509)))
  return ends.length === 1 ? ends[0]?.der : undefined
}

/**
 * Local authorities above the given certificates; 'ended': an authority that would complete the chain was revoked or
 * destroyed.
 */
async function issuersAbove(
  context: KmipContext,
  given: readonly Uint8Array[],
): Promise<readonly Uint8Array[] | 'ended'> {
  const all = [...given]
  for (let index = 0; index < all.length && all.length < maxChainLength; index += 1) {
    const certificate = parseCertificate(all[index] as Uint8Array)
    if (isSelfIssued(certificate.der)) continue
    for (const authority of await possibleIssuers(context.services.db, certificate)) {
      const object = await findPermitted(context, authority.id)
      if (object === undefined || all.some((each) => Buffer.compare(each, authority.certificate) === 0))
        continue
      if (isEnded(context, object)) return 'ended'
      all.push(authority.certificate)
    }
  }
  return all.slice(given.length)
}

async function findPermitted(context: KmipContext, id: string): Promise<ManagedObject | undefined> {
  try {
    return await context.permitted(id, 'validate')
  } catch (error) {
    if (error instanceof KmipFailure) return undefined
    throw error
  }
}

/** Register entries of this service for the certificates of a path; `others` are those of external issuers. */
async function findRegistered({ services }: KmipContext, { path }: PathResult) {
  const others: ParsedCertificate[] = []
  for (const [index, der] of path.slice(0, -1).entries()) {
    const certificate = parseCertificate(der)
    const { subject: name, spki } = parseCertificate(path[index + 1] as Uint8Array)
    const entry = await findBySerial(services.db, issuerId({ name, spki }), certificate.serial)
    if (entry?.revokedAt !== undefined) return { isRevoked: true, others }
    if (entry === undefined) others.push(certificate)
  }
  return { isRevoked: false, others }
}

async function fetchCrls(
  { services }: KmipContext,
  certificates: readonly ParsedCertificate[],
): Promise<readonly Crl[]> {
  const addresses = [...new Set(certificates.flatMap(addressesIn))].slice(0, maxAddresses)
  const crls = await Promise.all(addresses.map((url) => services.fetchedCrls.crl(url)))
  return crls.filter((crl) => crl !== undefined)
}

function addressesIn({ extensions }: ParsedCertificate): readonly string[] {
  return urlsIn(readCrlDistributionPoints(extensions)).filter((url) => /^https?:/.test(url))
}

function unique(certificates: readonly Uint8Array[]): readonly Uint8Array[] {
  const seen = new Set<string>()
  return certificates.filter((der) => {
    const key = Buffer.from(der).toString('base64')
    return !seen.has(key) && seen.add(key)
  })
}

function isSelfIssued(der: Uint8Array): boolean {
  const { subject, issuer } = parseCertificate(der)
  return Buffer.compare(subject, issuer) === 0
}

function isSignedByItself(der: Uint8Array): boolean {
  const x509 = new X509Certificate(der)
  try {
    return x509.verify(x509.publicKey)
  } catch {
    return false
  }
}
