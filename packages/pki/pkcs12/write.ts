import { createHash, createHmac, randomBytes } from 'node:crypto'
import {
  contextTag,
  der,
  derNull,
  derNumber,
  derObjectIdentifier,
  derOctets,
  derSequence,
  derTag,
} from '../der.ts'
import { type Protection, protect } from './encryption.ts'
import { oid, sha1, sha256 } from './identifiers.ts'
import { pkcs12Key, purpose } from './password.ts'
import type { Pkcs12Content } from './read.ts'

const macIterations = 10_000
const legacyMacIterations = 2048

/**
 * Writes a PKCS#12 file (RFC 7292): key and certificates encrypted with AES-256 and PBKDF2, a MAC over both, all with
 * SHA-256; or in the legacy format that every program reads.
 */
export async function writePkcs12(
  content: Pkcs12Content,
  password: string,
  protection: Protection,
): Promise<Buffer> {
  const [own, ...others] = content.certificates
  const localKeyId = createHash('sha1')
    .update(own ?? content.privateKey)
    .digest()
  const attributes = bagAttributes(content.friendlyName, localKeyId)
  const certificates = derSequence(
    ...(own === undefined ? [] : [certificateBag(own, attributes)]),
    ...others.map((certificate) => certificateBag(certificate, undefined)),
  )
  const key = await protect(password, content.privateKey, protection)
  const keyBag = bag(oid.shroudedKeyBag, derSequence(key.algorithm, derOctets(key.encrypted)), attributes)
  const parts = [contentInfo(derSequence(keyBag))]
  if (content.certificates.length > 0) parts.unshift(await encryptInfo(password, certificates, protection))
  const safe = derSequence(...parts)
  return derSequence(derNumber(3), contentInfo(safe), await mac(password, safe, protection))
}

function certificateBag(certificate: Uint8Array, attributes: Buffer | undefined): Buffer {
  const value = derSequence(
    derObjectIdentifier(oid.x509Certificate),
    der(contextTag(0), derOctets(certificate)),
  )
  return bag(oid.certificateBag, value, attributes)
}

function bag(identifier: string, value: Buffer, attributes: Buffer | undefined): Buffer {
  return derSequence(
    derObjectIdentifier(identifier),
    der(contextTag(0), value),
    ...(attributes === undefined ? [] : [attributes]),
  )
}

const bmpString = 0x1e

/** Attributes that link a certificate to its key. A SET in DER is sorted: the shorter element is first. */
function bagAttributes(friendlyName: string | undefined, localKeyId: Uint8Array): Buffer {
  const attribute = (identifier: string, value: Buffer) =>
    derSequence(derObjectIdentifier(identifier), der(derTag.set, value))
  const all = [attribute(oid.localKeyId, derOctets(localKeyId))]
  if (friendlyName !== undefined && friendlyName !== '') {
    const text = Buffer.from(friendlyName, 'utf16le').swap16()
    all.push(attribute(oid.friendlyName, der(bmpString, text)))
  }
  return der(derTag.set, ...all.toSorted(Buffer.compare))
}

function contentInfo(data: Uint8Array): Buffer {
  return derSequence(derObjectIdentifier(oid.data), der(contextTag(0), derOctets(data)))
}

async function encryptInfo(password: string, data: Uint8Array, protection: Protection): Promise<Buffer> {
  const { algorithm, encrypted } = await protect(password, data, protection)
  const inner = derSequence(derObjectIdentifier(oid.data), algorithm, der(contextTag(0, false), encrypted))
  return derSequence(
    derObjectIdentifier(oid.encryptedData),
    der(contextTag(0), derSequence(derNumber(0), inner)),
  )
}

async function mac(password: string, safe: Uint8Array, { legacy }: Protection): Promise<Buffer> {
  const hash = legacy ? sha1 : sha256
  const iterations = legacy ? legacyMacIterations : macIterations
  const salt = randomBytes(16)
  const key = await pkcs12Key(password, salt, iterations, hash.bytes, purpose.mac, hash)
  const digest = createHmac(hash.node, key).update(safe).digest()
  key.fill(0)
  const algorithm = derSequence(derObjectIdentifier(hash.identifier), derNull)
  return derSequence(derSequence(algorithm, derOctets(digest)), derOctets(salt), derNumber(iterations))
}
