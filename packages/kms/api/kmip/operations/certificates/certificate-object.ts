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
} from '@warder/pki/x509'
import { linkedObject, type ManagedObject } from '../../../../keys/index.ts'
import { type KmipContext, kmipFailure } from '../../engine/index.ts'
import { publicKeyFacts, readManagedObject } from '../../key-blocks/index.ts'
import { newBrought } from '../objects/registered-object.ts'
import { link } from '../objects/replacement.ts'
import type { ChosenIssuer } from './certificate-issuer.ts'
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
  const { subject, name, issuer, notBefore } = order
  const notAfter = Math.min(order.notAfter, issuer.notAfter ?? order.notAfter)
  if (notAfter <= notBefore)
    throw kmipFailure('InvalidField', 'The certificate of the issuer ends before this one begins.')
  const extensions = completed(order.extensions, subject.spki, issuer.certificate === undefined)
  const wanted = { subject: name, spki: subject.spki, notBefore, notAfter, extensions }
  const der = await issueCertificate(wanted, issuer)
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
  for (const id of [subject.publicKey, subject.privateKey])
    await linkKey(context, id, object.id, order.replaces)
  return object
}

/** What the certificate itself decides. */
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
  certificate: string,
  replaced: ManagedObject | undefined,
): Promise<void> {
  const key = id === undefined ? undefined : await context.objects.read(id)
  const caller = context.principal.name
  if (key === undefined || key.owner !== (replaced?.owner ?? caller)) return
  if (key.owner !== caller && linkedObject(key, 'CertificateLink') !== replaced?.id) return
  const others = key.links.filter(({ kind }) => kind !== 'CertificateLink')
  context.objects.update(key, { links: [...others, { kind: 'CertificateLink', id: certificate }] })
}

/** What every certificate has, unless it was said otherwise (RFC 5280 §4.2.1). */
function completed(given: readonly Extension[], spki: Uint8Array, selfSigned: boolean): readonly Extension[] {
  const has = (identifier: string) => given.some((extension) => extension.identifier === identifier)
  const { authority } = readBasicConstraints(given)
  const made = [...given]
  if (!has(extensionIdentifiers.basicConstraints)) made.push(basicConstraints(false))
  if (!has(extensionIdentifiers.keyUsage)) made.push(keyUsage(usesOf(spki, authority)))
  const revocable = has(extensionIdentifiers.crlDistributionPoints) || has(extensionIdentifiers.noRevAvail)
  if (selfSigned && !authority && !revocable) made.push(noRevAvail)
  return made
}

function usesOf(spki: Uint8Array, authority: boolean): readonly KeyUsageName[] {
  if (authority) return ['keyCertSign', 'cRLSign']
  const uses = endEntityUses(spki)
  return publicKeyFacts(spki)?.algorithm === 'RSA' ? [...uses, 'keyEncipherment'] : uses
}
