import { Failure } from '@warder/base'
import {
  findLinkTarget,
  type ManagedObject,
  type NewObject,
  type ObjectLink,
  openPermittedKey,
  publicKeyKind,
  Refusal,
  refusal,
} from '@warder/keys'
import {
  basicConstraints,
  type Extension,
  endEntityUses,
  extensionIdentifiers,
  issueCertificate,
  type KeyUsageName,
  keyUsage,
  noRevAvail,
  parseCertificate,
  readBasicConstraints,
  readCertificateExtensions,
  readKeyUsage,
} from '@warder/pki'
import { toPublicationExtensions } from '../addresses.ts'
import { keepsCertificate } from '../certificate-object.ts'
import { certify, type SignedCertificate, type WantedCertificate } from '../certify.ts'
import { requireNotCompromised } from '../compromised-key-store.ts'
import { becomeAuthority, type ChosenIssuer } from './issuer.ts'
import type { CertificateRequester, CertificateSubject } from './subject.ts'

/** A signed certificate to store as an object. Times in Unix milliseconds. */
export interface CertificateToKeep {
  readonly der: Uint8Array
  readonly notBefore: number
  readonly notAfter: number
  /** Links to its keys and its issuer. */
  readonly links: readonly ObjectLink[]
}

export interface CertificateOrder {
  readonly subject: CertificateSubject
  /** DER of the name. */
  readonly name: Uint8Array
  readonly issuer: ChosenIssuer
  readonly extensions: readonly Extension[]
  /** Unix milliseconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** The certificate that this one replaces; both have the same owner. */
  readonly replaces?: ManagedObject
  /** Creates its object with the attributes of the request. */
  makeObject(certificate: CertificateToKeep): Promise<NewObject>
}

/** Issues the certificate and stages it as an object, linked with its keys and its issuer. */
export async function stageCertificate(
  requester: CertificateRequester,
  order: CertificateOrder,
): Promise<ManagedObject> {
  const { subject, name, issuer, replaces } = order
  const { services, objects, principal } = requester
  const notBefore = Math.max(order.notBefore, issuer.authority?.parsed.notBefore ?? 0)
  const notAfter = Math.min(order.notAfter, issuer.notAfter ?? order.notAfter)
  if (notAfter <= notBefore)
    throw refusal('InvalidField', 'The certificate of the issuer expires before this one becomes valid.')
  // Certificates of an authority of this service contain the URLs of revocation information.
  const addresses = issuer.authority && toPublicationExtensions(services.revocation, issuer.authority)
  const wanted = {
    subject: name,
    spki: subject.spki,
    notBefore,
    notAfter,
    owner: replaces?.owner ?? principal.name,
    by: principal.name,
    isPossessionShown: subject.isPossessionShown,
    ...(replaces !== undefined && { replaces: replaces.id }),
    ...completeExtensions(order.extensions, subject.spki, addresses),
  }
  const { der, register } = await sign(requester, wanted, issuer)
  const links = [
    ['PublicKeyLink', subject.publicKey] as const,
    ['PrivateKeyLink', subject.privateKey] as const,
    ['CertificateLink', issuer.certificate] as const,
  ].flatMap(([kind, id]) => (id ? [{ kind, id }] : []))
  const object = objects.create(await order.makeObject({ der, notBefore, notAfter, links }))
  if (register !== undefined) objects.also(register(object.id))
  await stageNewAuthority(requester, { object, der, keyId: subject.privateKey, replaces })
  for (const id of [subject.publicKey, subject.privateKey])
    await linkKey(requester, id, { id: object.id, der }, replaces)
  return object
}

type Wanted = Omit<WantedCertificate, 'profile'>

/** Signs the certificate: by an authority within its limits, with registration, or self-signed. */
async function sign(
  { services, objects, now }: CertificateRequester,
  wanted: Wanted,
  { authority, ...issuer }: ChosenIssuer,
): Promise<Pick<SignedCertificate, 'der'> & Partial<SignedCertificate>> {
  try {
    if (authority === undefined) {
      await requireNotCompromised(services.db, wanted.spki, wanted.owner)
      const extensions = [...wanted.extensions, ...wanted.publication]
      return { der: await issueCertificate({ ...wanted, extensions }, issuer) }
    }
    return await certify(services.db, objects, authority, { ...wanted, profile: 'unknown' }, now)
  } catch (error) {
    // A certificate that may not be issued is a mistake in the request.
    if (error instanceof Failure && error.kind === 'bad_request') throw refusal('InvalidField', error.message)
    throw error
  }
}

interface NewAuthorityCertificate {
  readonly object: ManagedObject
  readonly der: Uint8Array
  readonly keyId: string | undefined
  readonly replaces: ManagedObject | undefined
}

/** Registers an authority together with its certificate, if the requester may certify with its key. */
async function stageNewAuthority(
  requester: CertificateRequester,
  { object, der, keyId, replaces }: NewAuthorityCertificate,
): Promise<void> {
  const extensions = readCertificateExtensions(der)
  const uses = readKeyUsage(extensions)
  const issues = readBasicConstraints(extensions).authority && uses?.includes('keyCertSign') !== false
  if (keyId === undefined || !issues) return
  try {
    const key = await openPermittedKey(requester, keyId, 'certify')
    const own = key.held.publicKey?.export({ format: 'der', type: 'spki' })
    if (own?.equals(parseCertificate(der).spki) !== true) return
    await becomeAuthority(requester, object, { der, key, replaces })
  } catch (error) {
    // The requester may not certify with the key: the first use by a user who may makes it an authority.
    if (!(error instanceof Refusal)) throw error
  }
}

/**
 * Links a key to its latest certificate. A grantee who renews the certificate of another owner moves only the link of a
 * key that linked to the previous one: links of certificates may lead to other keys, which the grantee may not change.
 */
async function linkKey(
  { objects, principal, services }: CertificateRequester,
  id: string | undefined,
  certificate: { readonly id: string; readonly der: Uint8Array },
  replaced: ManagedObject | undefined,
): Promise<void> {
  const key = id === undefined ? undefined : await objects.read(id)
  const caller = principal.name
  if (key === undefined || key.owner !== (replaced?.owner ?? caller)) return
  const known = findLinkTarget(key, 'CertificateLink')
  if (key.owner !== caller && known !== replaced?.id) return
  if (await keepsCertificate(services.db, known, certificate.der)) return
  const others = key.links.filter(({ kind }) => kind !== 'CertificateLink')
  objects.update(key, { links: [...others, { kind: 'CertificateLink', id: certificate.id }] })
}

/**
 * Adds the extensions that every certificate has, unless the request differs (RFC 5280 §4.2.1).
 * @param addresses of the authority; undefined: it signs itself
 */
function completeExtensions(
  given: readonly Extension[],
  spki: Uint8Array,
  addresses: readonly Extension[] | undefined,
): Pick<Wanted, 'extensions' | 'publication'> {
  const has = (identifier: string) => given.some((extension) => extension.identifier === identifier)
  const { authority } = readBasicConstraints(given)
  const made = [...given]
  if (!has(extensionIdentifiers.basicConstraints)) made.push(basicConstraints(false))
  if (!has(extensionIdentifiers.keyUsage)) made.push(keyUsage(chooseUses(spki, authority)))
  const revocable = has(extensionIdentifiers.crlDistributionPoints) || has(extensionIdentifiers.noRevAvail)
  if (addresses === undefined && !authority && !revocable) made.push(noRevAvail)
  const publication = revocable ? [] : (addresses ?? []).filter(({ identifier }) => !has(identifier))
  return { extensions: made, publication }
}

function chooseUses(spki: Uint8Array, authority: boolean): readonly KeyUsageName[] {
  if (authority) return ['keyCertSign', 'cRLSign']
  const uses = endEntityUses(spki)
  return publicKeyKind(spki)?.algorithm === 'RSA' ? [...uses, 'keyEncipherment'] : uses
}
