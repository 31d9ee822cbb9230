import { Failure } from '@warder/foundation/errors'
import { Enumeration, Tag } from '@warder/kmip/tables'
import { byteString, dateTime, enumeration, structure, type TtlvNode } from '@warder/kmip/ttlv'
import {
  basicConstraints,
  type Extension,
  endEntityUses,
  extensionIdentifiers,
  issueCertificate,
  type KeyUsageName,
  keyUsage,
  noRevAvail,
  readBasicConstraints,
  readCertificateExtensions,
  readKeyUsage,
} from '@warder/pki/x509'
import {
  certify,
  keepsCertificate,
  publicationOf,
  requireNotCompromised,
  type SignedCertificate,
  type WantedCertificate,
} from '../../../../authority/index.ts'
import { linkedObject, type ManagedObject, publicKeyKind } from '../../../../keys/index.ts'
import { type KmipContext, KmipFailure, kmipFailure } from '../../engine/index.ts'
import { certificateFacts, readManagedObject } from '../../key-blocks/index.ts'
import { newBrought } from '../objects/registered-object.ts'
import { link } from '../objects/replacement.ts'
import { becomeAuthority, type ChosenIssuer } from './certificate-issuer.ts'
import type { CertificateSubject } from './certificate-subject.ts'

export interface CertificateOrder {
  readonly subject: CertificateSubject
  /** DER of the name. */
  readonly name: Uint8Array
  readonly issuer: ChosenIssuer
  readonly extensions: readonly Extension[]
  /** Unix milliseconds. */
  readonly notBefore: number
  readonly notAfter: number
  readonly attributes: readonly TtlvNode[]
  /** The certificate that this one takes the place of: it will have the same owner. */
  readonly replaces?: ManagedObject
}

/** Issues the certificate and stages it as an object, linked with its keys and its issuer. */
export async function stageCertificate(
  context: KmipContext,
  order: CertificateOrder,
): Promise<ManagedObject> {
  const { subject, name, issuer } = order
  const notBefore = Math.max(order.notBefore, issuer.authority?.parsed.notBefore ?? 0)
  const notAfter = Math.min(order.notAfter, issuer.notAfter ?? order.notAfter)
  if (notAfter <= notBefore)
    throw kmipFailure('InvalidField', 'The certificate of the issuer ends before this one begins.')
  const wanted = {
    subject: name,
    spki: subject.spki,
    notBefore,
    notAfter,
    owner: order.replaces?.owner ?? context.principal.name,
    by: context.principal.name,
    isPossessionShown: subject.isPossessionShown,
    ...(order.replaces !== undefined && { replaces: order.replaces.id }),
    ...completed(order.extensions, subject.spki, addressesFor(context, issuer)),
  }
  const { der, register } = await signed(context, wanted, issuer)
  const node = structure(Tag.Certificate, [
    enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
    byteString(Tag.CertificateValue, der),
  ])
  const stored = await readManagedObject('Certificate', node, {}, { fips: context.services.fips })
  const object = context.objects.create(
    newBrought(context, stored, [
      ...order.attributes.filter(({ tag }) => !replaced.has(tag)),
      dateTime(Tag.ActivationDate, Math.floor(notBefore / 1000)),
      dateTime(Tag.DeactivationDate, Math.floor(notAfter / 1000)),
      ...[
        subject.publicKey && link('PublicKeyLink', subject.publicKey),
        subject.privateKey && link('PrivateKeyLink', subject.privateKey),
        issuer.certificate && link('CertificateLink', issuer.certificate),
      ].filter((each) => typeof each === 'object'),
    ]),
  )
  if (register !== undefined) context.objects.also(register(object.id))
  await openAuthorityOf(context, { object, der, keyId: subject.privateKey, replaces: order.replaces })
  for (const id of [subject.publicKey, subject.privateKey])
    await linkKey(context, id, { id: object.id, der }, order.replaces)
  return object
}

type Wanted = Omit<WantedCertificate, 'profile'>

/** Signs: an authority within its limits, and registered; else the key for itself. */
async function signed(
  { services, objects, now }: KmipContext,
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
    if (error instanceof Failure && error.kind === 'bad_request')
      throw kmipFailure('InvalidField', error.message)
    throw error
  }
}

/** A certificate of an authority whose key the caller may certify with is an authority from its beginning. */
async function openAuthorityOf(
  context: KmipContext,
  {
    object,
    der,
    keyId,
    replaces,
  }: {
    readonly object: ManagedObject
    readonly der: Uint8Array
    readonly keyId: string | undefined
    readonly replaces: ManagedObject | undefined
  },
): Promise<void> {
  const extensions = readCertificateExtensions(der)
  const uses = readKeyUsage(extensions)
  const issues = readBasicConstraints(extensions).authority && uses?.includes('keyCertSign') !== false
  if (keyId === undefined || !issues) return
  try {
    const key = await context.permittedKey(keyId, 'certify')
    const own = key.held.publicKey?.export({ format: 'der', type: 'spki' })
    if (own?.equals(certificateFacts(der).spki) !== true) return
    await becomeAuthority(context, object, { der, key, replaces })
  } catch (error) {
    // The key is not the caller's to certify with: who may, makes it an authority by the first use.
    if (!(error instanceof KmipFailure)) throw error
  }
}

/** Addresses of revocation information: in certificates of an authority of this service. */
function addressesFor(
  { services }: KmipContext,
  { authority }: ChosenIssuer,
): readonly Extension[] | undefined {
  if (authority === undefined) return undefined
  return publicationOf(services.revocation, authority)
}

/** Attributes that the certificate itself decides. */
const replaced: ReadonlySet<number> = new Set([
  Tag.ActivationDate,
  Tag.DeactivationDate,
  Tag.CryptographicAlgorithm,
  Tag.CryptographicLength,
  Tag.CryptographicDomainParameters,
])

/**
 * A key knows its latest certificate. Who renews somebody else's certificate moves the link of a key that knew the one
 * before: the links of certificates may lead to other keys of the owner, which are not the caller's to change.
 */
async function linkKey(
  context: KmipContext,
  id: string | undefined,
  certificate: { readonly id: string; readonly der: Uint8Array },
  replaced: ManagedObject | undefined,
): Promise<void> {
  const key = id === undefined ? undefined : await context.objects.read(id)
  const caller = context.principal.name
  if (key === undefined || key.owner !== (replaced?.owner ?? caller)) return
  const known = linkedObject(key, 'CertificateLink')
  if (key.owner !== caller && known !== replaced?.id) return
  if (await keepsCertificate(context.services.db, known, certificate.der)) return
  const others = key.links.filter(({ kind }) => kind !== 'CertificateLink')
  context.objects.update(key, { links: [...others, { kind: 'CertificateLink', id: certificate.id }] })
}

/**
 * Adds the extensions that every certificate has, unless the request differs (RFC 5280 §4.2.1).
 * @param addresses of the authority; undefined: it signs itself
 */
function completed(
  given: readonly Extension[],
  spki: Uint8Array,
  addresses: readonly Extension[] | undefined,
): Pick<Wanted, 'extensions' | 'publication'> {
  const has = (identifier: string) => given.some((extension) => extension.identifier === identifier)
  const { authority } = readBasicConstraints(given)
  const made = [...given]
  if (!has(extensionIdentifiers.basicConstraints)) made.push(basicConstraints(false))
  if (!has(extensionIdentifiers.keyUsage)) made.push(keyUsage(usesOf(spki, authority)))
  const revocable = has(extensionIdentifiers.crlDistributionPoints) || has(extensionIdentifiers.noRevAvail)
  if (addresses === undefined && !authority && !revocable) made.push(noRevAvail)
  const publication = revocable ? [] : (addresses ?? []).filter(({ identifier }) => !has(identifier))
  return { extensions: made, publication }
}

function usesOf(spki: Uint8Array, authority: boolean): readonly KeyUsageName[] {
  if (authority) return ['keyCertSign', 'cRLSign']
  const uses = endEntityUses(spki)
  return publicKeyKind(spki)?.algorithm === 'RSA' ? [...uses, 'keyEncipherment'] : uses
}
