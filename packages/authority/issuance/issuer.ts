import { X509Certificate } from 'node:crypto'
import {
  findLinkTarget,
  findPrivateKeyId,
  type Key,
  type ManagedObject,
  openPermittedKey,
  refusal,
  requirePermittedObject,
  requireUse,
  stateAt,
  takeUse,
  usage,
} from '@warder/keys'
import {
  type CertificateSigner,
  type Extension,
  type Issuer,
  parseCertificate,
  readBasicConstraints,
  readCertificate,
  readCertificateExtensions,
  readKeyIdentifier,
  readKeyUsage,
} from '@warder/pki'
import {
  type Authority,
  certificateSign,
  createSigner,
  findAuthority,
  newAuthority,
  openAuthority,
} from '../authority.ts'
import { requireOwnAuthorityKey } from '../limits.ts'
import { listAuthorities, type StoredAuthority } from '../register/authority-store.ts'
import { issuerId } from '../register/certificates.ts'
import type { CertificateRequester, CertificateSubject } from './subject.ts'

/** The issuer, and the latest expiry of its certificates. */
export interface ChosenIssuer extends Issuer {
  /** Identifier of its certificate; undefined: the issued certificate is self-signed. */
  readonly certificate: string | undefined
  /** Unix milliseconds. */
  readonly notAfter: number | undefined
  /** The authority with its register; undefined: the certificate is self-signed. */
  readonly authority: Authority | undefined
}

/**
 * Loads the private key that signs certificates: the caller has the right to certify with it, it is Active, and its
 * usage permits signing.
 */
async function openSigningKey(requester: CertificateRequester, id: string): Promise<Key> {
  return requireSigner(requester, await openPermittedKey(requester, id, 'certify'))
}

/** The key of an authority: the right `certify` on the certificate of the authority suffices, as over REST. */
async function openAuthorityKey(requester: CertificateRequester, { keyId }: StoredAuthority): Promise<Key> {
  const key = await requester.objects.key(keyId)
  if (key === undefined)
    throw refusal('InvalidField', 'The service does not have the private key of the issuer.')
  return requireSigner(requester, key)
}

function requireSigner(requester: CertificateRequester, key: Key): Key {
  const { object } = key
  if (object.type !== 'PrivateKey')
    throw refusal('InvalidObjectType', 'Certificates must be signed with a private key.')
  // A key with the usage Certificate Sign signs certificates, even if it may not sign other data.
  const certifies = (object.usageMask & certificateSign) !== 0
  requireUse(requester, certifies ? { ...object, usageMask: object.usageMask | usage.sign } : object, 'sign')
  return key
}

/** Returns the key and how it signs certificates, in any backend. */
function signing(
  { held, object }: Key,
  { services }: CertificateRequester,
): { spki: Buffer; key: CertificateSigner } {
  const spki = held.publicKey?.export({ format: 'der', type: 'spki' })
  if (spki === undefined)
    throw refusal('InvalidObjectType', 'Certificates must be signed with a private key.')
  return { spki, key: createSigner(held, services.policy, object.boundAlg) }
}

function requireActive({ now }: CertificateRequester, object: ManagedObject): void {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised') throw refusal('ObjectDestroyed', 'DENIED')
  if (state !== 'Active') throw refusal('WrongKeyLifecycleState', 'The issuer is not Active.')
}

/**
 * Finds the issuer that is named by its key, by its certificate, or by both.
 * @throws InvalidField when they do not match, or the certificate is not one of an authority
 */
export async function resolveNamedIssuer(
  requester: CertificateRequester,
  named: { readonly key: string | undefined; readonly certificate: string | undefined },
): Promise<ChosenIssuer> {
  const certificateId = named.certificate ?? (await findCertificateOfKey(requester, named.key))
  if (certificateId === undefined)
    throw refusal('InvalidField', 'The issuer has no certificate: set a certificate link.')
  const certificate = await requirePermittedObject(requester, certificateId, 'certify')
  if (certificate.type !== 'Certificate')
    throw refusal('InvalidObjectType', 'The certificate link of the issuer does not lead to a certificate.')
  requireActive(requester, certificate)
  const key = await openIssuerKey(requester, certificate, named.key)
  const { spki, key: signer } = signing(key, requester)
  const der = await requester.objects.material(certificate)
  if (der === undefined) throw refusal('KeyValueNotPresent', 'The service does not have the certificate.')
  const { subject, spki: certified } = readCertificate(der)
  if (!spki.equals(certified))
    throw refusal('InvalidField', 'The key of the issuer does not match its certificate.')
  const extensions = readCertificateExtensions(der)
  requireAuthority(extensions)
  const { validFromDate, validToDate } = new X509Certificate(der)
  if (requester.now < validFromDate.getTime() || requester.now > validToDate.getTime())
    throw refusal('InvalidField', 'The certificate of the issuer is not valid at present.')
  return {
    name: subject,
    key: signer,
    spki,
    keyIdentifier: readKeyIdentifier(extensions),
    certificate: certificateId,
    notAfter: validToDate.getTime(),
    authority: await openOrBecomeAuthority(requester, certificate, der, key),
  }
}

/** The named key, else that of the authority, else the key that the certificate links to. */
async function openIssuerKey(
  requester: CertificateRequester,
  certificate: ManagedObject,
  named: string | undefined,
): Promise<Key> {
  if (named !== undefined) return openSigningKey(requester, named)
  const stored = await findAuthority(requester.services.db, certificate.id)
  if (stored !== undefined) return openAuthorityKey(requester, stored)
  const linked = findPrivateKeyId(certificate)
  if (linked === undefined)
    throw refusal('InvalidField', 'The service does not have the private key of the issuer.')
  return openSigningKey(requester, linked)
}

/** The authority that this certificate is; it becomes one when it issues for the first time. */
async function openOrBecomeAuthority(
  requester: CertificateRequester,
  certificate: ManagedObject,
  der: Uint8Array,
  key: Key,
): Promise<Authority> {
  const { services, objects, now } = requester
  const stored =
    (await findAuthority(services.db, certificate.id)) ??
    (await becomeAuthority(requester, certificate, { der, key }))
  return openAuthority(services, objects, stored, now)
}

/**
 * Registers the certificate as one of an authority, if the caller may certify with its key. A request cannot set
 * limits: the authority inherits those of the authority that it replaces, or of the one with the same name and key.
 */
export async function becomeAuthority(
  { services, objects, now }: CertificateRequester,
  certificate: ManagedObject,
  {
    der,
    key,
    replaces,
  }: { readonly der: Uint8Array; readonly key: Key; readonly replaces?: ManagedObject | undefined },
): Promise<StoredAuthority> {
  const { subject: name, spki } = parseCertificate(der)
  await requireOwnAuthorityKey(services.db, key.object, spki, replaces?.owner ?? certificate.owner)
  const before = replaces === undefined ? undefined : await findAuthority(services.db, replaces.id)
  const [same] = await listAuthorities(services.db, issuerId({ name, spki }))
  const above = findLinkTarget(certificate, 'CertificateLink')
  const parent = above === undefined ? undefined : await findAuthority(services.db, above)
  const { authority, changes } = newAuthority(services.db, {
    id: certificate.id,
    keyId: key.object.id,
    certificate: der,
    chain:
      parent === undefined || !hasSigned(parent.certificate, der)
        ? []
        : [parent.certificate, ...parent.chain],
    settings: (before ?? same)?.settings ?? {},
    createdAt: now,
  })
  objects.also(...changes)
  return authority
}

/** Owners can set any links, so a certificate counts as the issuer only if it signed the other. */
function hasSigned(parent: Uint8Array, der: Uint8Array): boolean {
  return new X509Certificate(der).verify(new X509Certificate(parent).publicKey)
}

async function findCertificateOfKey(
  requester: CertificateRequester,
  keyId: string | undefined,
): Promise<string | undefined> {
  if (keyId === undefined) return undefined
  return findLinkTarget(await requirePermittedObject(requester, keyId, 'certify'), 'CertificateLink')
}

function requireAuthority(extensions: readonly Extension[]): void {
  const uses = readKeyUsage(extensions)
  if (!readBasicConstraints(extensions).authority || uses?.includes('keyCertSign') === false)
    throw refusal('InvalidField', 'The certificate of the issuer is not that of an authority.')
}

/**
 * A self-signed issuer: the certified key is the signing key, regardless of the links of an object.
 * @param name DER of its name
 * @param owner of the certificate
 */
async function selfIssuer(
  requester: CertificateRequester,
  { privateKey: keyId, spki: certified }: Pick<CertificateSubject, 'privateKey' | 'spki'>,
  name: Uint8Array,
  owner: string,
): Promise<ChosenIssuer> {
  if (keyId === undefined)
    throw refusal(
      'InvalidField',
      'No issuer is given, and the service does not have the private key for a self-signed certificate.',
    )
  const key = await openSigningKey(requester, keyId)
  const { spki, key: signer } = signing(key, requester)
  if (!spki.equals(certified))
    throw refusal(
      'InvalidField',
      'No issuer is given, and the linked private key does not match the public key.',
    )
  await requireOwnAuthorityKey(requester.services.db, key.object, spki, owner)
  takeUse(requester, key.object, 0, true)
  return {
    name,
    spki,
    key: signer,
    keyIdentifier: undefined,
    certificate: undefined,
    notAfter: undefined,
    authority: undefined,
  }
}

/** The named issuer, else the subject itself. @param owner of the certificate */
export function chooseIssuer(
  requester: CertificateRequester,
  named: { readonly key: string | undefined; readonly certificate: string | undefined },
  subject: CertificateSubject,
  { name, owner }: { readonly name: Uint8Array; readonly owner: string },
): Promise<ChosenIssuer> {
  if (named.key === undefined && named.certificate === undefined)
    return selfIssuer(requester, subject, name, owner)
  return resolveNamedIssuer(requester, named)
}
