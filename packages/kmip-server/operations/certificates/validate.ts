import { X509Certificate } from 'node:crypto'
import { findBySerial, issuerId, possibleIssuers } from '@warder/authority'
import { findLinkTarget, type ManagedObject, stateAt } from '@warder/keys'
import { findMember, Tag, type TtlvNode } from '@warder/kmip-codec'
import {
  type Crl,
  maxChainLength,
  type ParsedCertificate,
  type PathResult,
  PkiError,
  parseCertificate,
  readCrlDistributionPoints,
  urlsIn,
  type Validity,
  validatePath,
} from '@warder/pki'
import { defineOperation, namedObject, signedIn } from '../../engine/operation.ts'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import { definePayload, field, repeated, required } from '../../payloads/payload.ts'

/**
 * Validate (KMIP 2.1 §6.1.57): is this certificate chain valid at a time? Stored certificates add their issuers by
 * their links, and local authorities complete the chain. Signatures, dates, path lengths, name constraints and usages
 * are checked, and revocation: in the registers of local authorities, and on CRLs that are fetched from the addresses
 * in certificates of external authorities. A chain that breaks a rule or is revoked is Invalid; a chain without a root
 * is Unknown.
 */
export const validate = defineOperation({
  name: 'Validate',
  reach: ['reveal validity'],
  asks: ['validate'],
  access: signedIn,
  request: definePayload({
    certificates: repeated(field.node(Tag.Certificate, 'Structure')),
    uniqueIdentifiers: repeated(namedObject),
    validityDate: field.date(Tag.ValidityDate),
  }),
  reply: definePayload({ validity: required(field.named('ValidityIndicator')) }),
  async handle({ certificates, uniqueIdentifiers: named, validityDate: seconds }, context) {
    const at = seconds === undefined ? context.now : seconds * 1000
    const sent = certificates.map(certificateIn)
    if (sent.length + named.length === 0 && context.placeholder === undefined)
      throw kmipFailure('MissingData', 'No certificate is given.')
    const nodes = sent.length + named.length === 0 ? [undefined] : named
    if (sent.length + nodes.length > maxChainLength)
      throw kmipFailure('InvalidField', `A chain may have at most ${maxChainLength} certificates.`)
    const kept: ManagedObject[] = []
    for (const node of nodes) kept.push(await requirePermitted(context, context.identifier(node)))
    await addIssuers(context, kept)
    return { validity: await validateChain(context, sent, kept, at) }
  },
})

/** A Certificate structure (KMIP), or its bytes alone as some clients send them. */
function certificateIn(node: TtlvNode): Uint8Array {
  const value = node.type === 'Structure' ? findMember(node, Tag.CertificateValue) : node
  if (value?.type !== 'ByteString')
    throw kmipFailure('InvalidField', 'A certificate must be a structure with its value, or bytes.')
  return value.value
}

async function requirePermitted(context: KmipContext, id: string): Promise<ManagedObject> {
  const object = await context.permitted(id, 'validate')
  if (object.type !== 'Certificate')
    throw kmipFailure('InvalidObjectType', `Validate does not support objects of type ${object.type}.`)
  return object
}

/** Stored issuers that the caller may validate; without one the chain ends. */
async function addIssuers(context: KmipContext, kept: ManagedObject[]): Promise<void> {
  for (let index = 0; index < kept.length && kept.length < maxChainLength; index += 1) {
    const object = kept[index]
    const issuer = object === undefined ? undefined : findLinkTarget(object, 'CertificateLink')
    if (issuer === undefined || kept.some(({ id }) => id === issuer)) continue
    try {
      kept.push(await requirePermitted(context, issuer))
    } catch (error) {
      if (!(error instanceof KmipFailure)) throw error
    }
  }
}

async function validateChain(
  context: KmipContext,
  sent: readonly Uint8Array[],
  kept: readonly ManagedObject[],
  at: number,
): Promise<Validity> {
  const chain = [...sent]
  for (const object of kept) {
    if (isEnded(context, object)) return 'Invalid'
    const material = await context.objects.material(object)
    if (material === undefined) return 'Invalid'
    chain.push(material)
  }
  try {
    return await chainValidity(context, chain, at)
  } catch (error) {
    // Bytes that cannot be parsed as a certificate are Invalid.
    if (error instanceof PkiError) return 'Invalid'
    throw error
  }
}

/** Maximum number of addresses from which one validation fetches CRLs. */
const maxAddresses = 4

/**
 * Was the object revoked, compromised or destroyed? Passed dates do not count here: validation checks those of the
 * certificate.
 */
function isEnded({ now }: KmipContext, object: ManagedObject): boolean {
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
async function chainValidity(
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
