import { X509Certificate } from 'node:crypto'
import { Enumeration } from '@warder/kmip/tables'
import {
  type CertificateSigner,
  type Extension,
  type Issuer,
  parseCertificate,
  readBasicConstraints,
  readCertificateExtensions,
  readKeyIdentifier,
  readKeyUsage,
} from '@warder/pki/x509'
import {
  type Authority,
  authoritiesOf,
  findAuthority,
  issuerId,
  newAuthority,
  openAuthority,
  requireOwnAuthorityKey,
  type StoredAuthority,
  signerOf,
} from '../../../../authority/index.ts'
import { type Key, linkedObject, type ManagedObject, stateAt } from '../../../../keys/index.ts'
import { privateKeyOf } from '../../attributes/links.ts'
import { type KmipContext, kmipFailure } from '../../engine/index.ts'
import { certificateFacts } from '../../key-blocks/index.ts'
import { requireUse, takeUse } from '../crypto/key-use.ts'
import type { CertificateSubject } from './certificate-subject.ts'

/** The issuer, and the end of the validity that it can give. */
export interface ChosenIssuer extends Issuer {
  /** Identifier of its certificate; undefined: what it issues is signed by itself. */
  readonly certificate: string | undefined
  /** Unix milliseconds. */
  readonly notAfter: number | undefined
  /** The authority with its register; undefined: the certificate is self-signed. */
  readonly authority: Authority | undefined
}

const { Sign, CertificateSign } = Enumeration.CryptographicUsageMask

/**
 * The private key with which to sign certificates, opened: the caller has the right to certify with it, it is Active,
 * and made to sign.
 */
async function signingKey(context: KmipContext, id: string): Promise<Key> {
  return madeToSign(context, await context.permittedKey(id, 'certify'))
}

/** The key that an authority keeps: the right `certify` on its certificate is enough, as over REST. */
async function keyOfAuthority(context: KmipContext, { keyId }: StoredAuthority): Promise<Key> {
  const key = await context.objects.key(keyId)
  if (key === undefined) throw kmipFailure('InvalidField', 'The private key of the issuer is not here.')
  return madeToSign(context, key)
}

function madeToSign(context: KmipContext, key: Key): Key {
  const { object } = key
  if (object.type !== 'PrivateKey')
    throw kmipFailure('InvalidObjectType', 'Certificates are signed with a private key.')
  // A key that is made to sign certificates signs them, whether or not it signs anything else.
  const certifies = (object.usageMask & CertificateSign) !== 0
  requireUse(context, certifies ? { ...object, usageMask: object.usageMask | Sign } : object, 'sign')
  return key
}

/** The key and how it signs certificates, wherever it is kept. */
function signing({ held, object }: Key, { services }: KmipContext): { spki: Buffer; key: CertificateSigner } {
  const spki = held.publicKey?.export({ format: 'der', type: 'spki' })
  if (spki === undefined)
    throw kmipFailure('InvalidObjectType', 'Certificates are signed with a private key.')
  return { spki, key: signerOf(held, services.policy, object.boundAlg) }
}

function requireActive({ now }: KmipContext, object: ManagedObject): void {
  const state = stateAt(object, now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised')
    throw kmipFailure('ObjectDestroyed', 'DENIED')
  if (state !== 'Active') throw kmipFailure('WrongKeyLifecycleState', 'The issuer is not Active.')
}

/**
 * The issuer that is named by its key, by its certificate, or by both: each leads to the other.
 * @throws InvalidField when they do not belong together, or the certificate is not one of an authority
 */
export async function namedIssuer(
  context: KmipContext,
  named: { readonly key: string | undefined; readonly certificate: string | undefined },
): Promise<ChosenIssuer> {
  const certificateId = named.certificate ?? (await certificateOfKey(context, named.key))
  if (certificateId === undefined)
    throw kmipFailure('InvalidField', 'The issuer has no certificate: name it with a link.')
  const certificate = await context.permitted(certificateId, 'certify')
  if (certificate.type !== 'Certificate')
    throw kmipFailure('InvalidObjectType', 'What is named as the certificate of the issuer is none.')
  requireActive(context, certificate)
  const key = await keyOfIssuer(context, certificate, named.key)
  const { spki, key: signer } = signing(key, context)
  const der = await context.objects.material(certificate)
  if (der === undefined) throw kmipFailure('KeyValueNotPresent', 'The certificate is not kept here.')
  const facts = certificateFacts(der)
  if (!spki.equals(facts.spki))
    throw kmipFailure('InvalidField', 'The key of the issuer is not that of its certificate.')
  const extensions = readCertificateExtensions(der)
  requireAuthority(extensions)
  const { validFromDate, validToDate } = new X509Certificate(der)
  if (context.now < validFromDate.getTime() || context.now > validToDate.getTime())
    throw kmipFailure('InvalidField', 'The certificate of the issuer is not valid now.')
  return {
    name: facts.subject,
    key: signer,
    spki,
    keyIdentifier: readKeyIdentifier(extensions),
    certificate: certificateId,
    notAfter: validToDate.getTime(),
    authority: await authorityOf(context, certificate, der, key),
  }
}

/** The key that is named; else that of the authority; else the one that the certificate is linked with. */
async function keyOfIssuer(
  context: KmipContext,
  certificate: ManagedObject,
  named: string | undefined,
): Promise<Key> {
  if (named !== undefined) return signingKey(context, named)
  const stored = await findAuthority(context.services.db, certificate.id)
  if (stored !== undefined) return keyOfAuthority(context, stored)
  const linked = privateKeyOf(certificate)
  if (linked === undefined) throw kmipFailure('InvalidField', 'The private key of the issuer is not here.')
  return signingKey(context, linked)
}

/** The authority that this certificate is; it becomes one when it issues for the first time. */
async function authorityOf(
  context: KmipContext,
  certificate: ManagedObject,
  der: Uint8Array,
  key: Key,
): Promise<Authority> {
  const { services, objects, now } = context
  const stored =
    (await findAuthority(services.db, certificate.id)) ??
    (await becomeAuthority(context, certificate, { der, key }))
  return openAuthority(services, objects, stored, now)
}

/**
 * Stages that a certificate whose key the caller may certify with is that of an authority. No message says how an
 * authority is limited: it is as the one that it replaces, or as the one with the same name and key.
 */
export async function becomeAuthority(
  { services, objects, now }: KmipContext,
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
  const [same] = await authoritiesOf(services.db, issuerId({ name, spki }))
  const above = linkedObject(certificate, 'CertificateLink')
  const parent = above === undefined ? undefined : await findAuthority(services.db, above)
  const { authority, changes } = newAuthority(services.db, {
    id: certificate.id,
    keyId: key.object.id,
    certificate: der,
    chain:
      parent === undefined || !issued(parent.certificate, der) ? [] : [parent.certificate, ...parent.chain],
    settings: (before ?? same)?.settings ?? {},
    createdAt: now,
  })
  objects.also(...changes)
  return authority
}

/** Links are the owner's to set: a certificate stands above another when it has signed it. */
function issued(parent: Uint8Array, der: Uint8Array): boolean {
  return new X509Certificate(der).verify(new X509Certificate(parent).publicKey)
}

async function certificateOfKey(
  context: KmipContext,
  keyId: string | undefined,
): Promise<string | undefined> {
  if (keyId === undefined) return undefined
  return linkedObject(await context.permitted(keyId, 'certify'), 'CertificateLink')
}

function requireAuthority(extensions: readonly Extension[]): void {
  const uses = readKeyUsage(extensions)
  if (!readBasicConstraints(extensions).authority || uses?.includes('keyCertSign') === false)
    throw kmipFailure('InvalidField', 'The certificate of the issuer is not one of an authority.')
}

/**
 * Issuer that signs for itself: the key that is certified is the one that signs, whatever the links of an object say.
 * @param name DER of its name
 * @param owner of the certificate
 */
export async function selfIssuer(
  context: KmipContext,
  { privateKey: keyId, spki: certified }: Pick<CertificateSubject, 'privateKey' | 'spki'>,
  name: Uint8Array,
  owner: string,
): Promise<ChosenIssuer> {
  if (keyId === undefined)
    throw kmipFailure(
      'InvalidField',
      'No issuer is named, and the private key is not here to sign for itself.',
    )
  const key = await signingKey(context, keyId)
  const { spki, key: signer } = signing(key, context)
  if (!spki.equals(certified))
    throw kmipFailure(
      'InvalidField',
      'No issuer is named, and the linked private key does not match the public key.',
    )
  await requireOwnAuthorityKey(context.services.db, key.object, spki, owner)
  takeUse(context, key.object, 0, true)
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
