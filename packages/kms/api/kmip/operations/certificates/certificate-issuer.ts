import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { Enumeration } from '@warder/kmip/tables'
import {
  type Extension,
  extensionsOf,
  type Issuer,
  readBasicConstraints,
  readKeyIdentifier,
  readKeyUsage,
} from '@warder/pki/x509'
import { type Key, linkedObject, type ManagedObject, stateAt } from '../../../../keys/index.ts'
import { privateKeyOf } from '../../attributes/links.ts'
import { type KmipContext, kmipFailure } from '../../engine/index.ts'
import { certificateFacts } from '../../key-blocks/index.ts'
import { requireUse, takeUse } from '../crypto/key-use.ts'

/** Who issues, and until when what is issued can be valid. */
export interface ChosenIssuer extends Issuer {
  /** Identifier of its certificate; undefined: what it issues is signed by itself. */
  readonly certificate: string | undefined
  /** Unix milliseconds. */
  readonly notAfter: number | undefined
}

const { Sign, CertificateSign } = Enumeration.CryptographicUsageMask

/**
 * The private key with which to sign certificates, opened: the caller has the right to certify with it, it is Active,
 * and made to sign.
 */
async function signingKey(context: KmipContext, id: string): Promise<Key> {
  const key = await context.permittedKey(id, 'certify')
  const { object } = key
  if (object.type !== 'PrivateKey')
    throw kmipFailure('InvalidObjectType', 'Certificates are signed with a private key.')
  // A key that is made to sign certificates signs them, whether or not it signs anything else.
  const certifies = (object.usageMask & CertificateSign) !== 0
  requireUse(context, certifies ? { ...object, usageMask: object.usageMask | Sign } : object, 'sign')
  takeUse(context, object, 0, true)
  return key
}

/** Certificates are encoded and signed in one go: with a key of this process. @throws OperationNotSupported */
function localKey({ held }: Key): KeyObject {
  if (held.local === undefined)
    throw kmipFailure('OperationNotSupported', 'The place where this key is kept does not sign certificates.')
  return held.local
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
  const keyId = named.key ?? privateKeyOf(certificate)
  if (keyId === undefined) throw kmipFailure('InvalidField', 'The private key of the issuer is not here.')
  const keyObject = localKey(await signingKey(context, keyId))
  const der = await context.objects.material(certificate)
  if (der === undefined) throw kmipFailure('KeyValueNotPresent', 'The certificate is not kept here.')
  const facts = certificateFacts(der)
  const spki = createPublicKey(keyObject).export({ format: 'der', type: 'spki' })
  if (!spki.equals(facts.spki))
    throw kmipFailure('InvalidField', 'The key of the issuer is not that of its certificate.')
  const extensions = extensionsOf(der)
  requireAuthority(extensions)
  const { validFromDate, validToDate } = new X509Certificate(der)
  if (context.now < validFromDate.getTime() || context.now > validToDate.getTime())
    throw kmipFailure('InvalidField', 'The certificate of the issuer is not valid now.')
  return {
    name: facts.subject,
    key: keyObject,
    spki,
    keyIdentifier: readKeyIdentifier(extensions),
    certificate: certificateId,
    notAfter: validToDate.getTime(),
  }
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

/** Who signs for itself. @param name DER of its name */
export async function selfIssuer(
  context: KmipContext,
  keyId: string | undefined,
  name: Uint8Array,
): Promise<ChosenIssuer> {
  if (keyId === undefined)
    throw kmipFailure(
      'InvalidField',
      'No issuer is named, and the private key is not here to sign for itself.',
    )
  const keyObject = localKey(await signingKey(context, keyId))
  return {
    name,
    key: keyObject,
    spki: createPublicKey(keyObject).export({ format: 'der', type: 'spki' }),
    keyIdentifier: undefined,
    certificate: undefined,
    notAfter: undefined,
  }
}
