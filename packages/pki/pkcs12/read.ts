import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  contextTag,
  type DerElement,
  derContent,
  derElements,
  derIdentifier,
  derMembers,
  derNumber,
  derSmallNumber,
  derTag,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { unprotect } from './encryption.ts'
import { hashes, oid } from './identifiers.ts'
import { pkcs12Key, purpose } from './password.ts'

/** The used contents of a PKCS#12 file. */
export interface Pkcs12Content {
  /** PKCS#8 DER. The caller must wipe it. */
  readonly privateKey: Uint8Array
  readonly friendlyName: string | undefined
  /** DER; the certificate of the key first. */
  readonly certificates: readonly Uint8Array[]
}

interface Bag {
  readonly identifier: string
  readonly value: Uint8Array
  readonly friendlyName: string | undefined
  readonly localKeyId: Uint8Array | undefined
}

const what = 'The PKCS#12 file'
const maxBags = 64
/** Maximum number of parts: each may be encrypted, which costs work. */
const maxParts = 4

/**
 * Reads a PKCS#12 file (RFC 7292) with one private key.
 * @throws PkiError: `wrong_password` when its MAC does not verify, `unsupported_protection`, `malformed`
 */
export async function readPkcs12(file: Uint8Array, password: string): Promise<Pkcs12Content> {
  const [version, safe, mac] = derMembers(file, what)
  if (derSmallNumber(version, what) !== 3) throw pkiError('malformed', `${what} is of an unknown version.`)
  const content = readData(safe)
  if (mac === undefined)
    throw pkiError('malformed', 'The PKCS#12 file has no MAC: its integrity cannot be verified.')
  await requireMac(mac, content, password)
  const bags: Bag[] = []
  const parts = derMembers(content, what)
  if (parts.length > maxParts) throw pkiError('malformed', `${what} contains too many parts.`)
  for (const info of parts) {
    for (const element of derMembers(await decryptContents(info, password), what)) bags.push(readBag(element))
    if (bags.length > maxBags) throw pkiError('malformed', `${what} contains too many parts.`)
  }
  return readContent(bags, password)
}

/** The OCTET STRING in a ContentInfo of type data. */
export function readData(info: DerElement | undefined): Uint8Array {
  const [identifier, content] = derMembers(info?.whole ?? new Uint8Array(), what)
  if (derIdentifier(identifier, what) !== oid.data || content?.tag !== contextTag(0))
    throw pkiError('malformed', 'The PKCS#12 file is not protected by a password.')
  return derContent(derElements(content.content, what)[0], derTag.octetString, what)
}

async function requireMac(mac: DerElement, content: Uint8Array, password: string): Promise<void> {
  const [info, salt, iterations] = derMembers(mac.whole, what)
  const [algorithm, digest] = derMembers(info?.whole ?? new Uint8Array(), what)
  const identifier = derIdentifier(derMembers(algorithm?.whole ?? new Uint8Array(), what)[0], what)
  const hash = hashes.find((row) => row.identifier === identifier)
  if (hash === undefined)
    throw pkiError('unsupported_protection', 'The MAC of the PKCS#12 file is not supported.')
  const key = await pkcs12Key(
    password,
    derContent(salt, derTag.octetString, what),
    derSmallNumber(iterations ?? derElements(derNumber(1), what)[0], what),
    hash.bytes,
    purpose.mac,
    hash,
  )
  const right = createHmac(hash.node, key).update(content).digest()
  key.fill(0)
  const given = derContent(digest, derTag.octetString, what)
  if (given.length !== right.length || !timingSafeEqual(given, right))
    throw pkiError('wrong_password', 'The password does not decrypt the PKCS#12 file.')
}

/** Decrypts the SafeContents of one part. */
async function decryptContents(info: DerElement, password: string): Promise<Uint8Array> {
  const [identifier, content] = derMembers(info.whole, what)
  if (derIdentifier(identifier, what) !== oid.encryptedData) return readData(info)
  const [data] = derElements(content?.content ?? new Uint8Array(), what)
  const [, encrypted] = derMembers(data?.whole ?? new Uint8Array(), what)
  const [, algorithm, bytes] = derMembers(encrypted?.whole ?? new Uint8Array(), what)
  return unprotect(password, algorithm, derContent(bytes, contextTag(0, false), what))
}

function readBag(element: DerElement): Bag {
  const [identifier, value, attributes] = derMembers(element.whole, what)
  const [inner] = derElements(derContent(value, contextTag(0), what), what)
  const named = new Map<string, DerElement>()
  for (const attribute of attributes === undefined ? [] : derElements(attributes.content, what)) {
    const [name, values] = derMembers(attribute.whole, what)
    const [first] = derElements(values?.content ?? new Uint8Array(), what)
    if (first !== undefined) named.set(derIdentifier(name, what), first)
  }
  const friendly = named.get(oid.friendlyName)?.content
  return {
    identifier: derIdentifier(identifier, what),
    value: inner?.whole ?? new Uint8Array(),
    friendlyName:
      friendly === undefined || friendly.length % 2 !== 0
        ? undefined
        : Buffer.from(friendly).swap16().toString('utf16le').toWellFormed(),
    localKeyId: named.get(oid.localKeyId)?.content,
  }
}

async function readContent(bags: readonly Bag[], password: string): Promise<Pkcs12Content> {
  const keys = bags.filter(({ identifier }) => identifier === oid.keyBag || identifier === oid.shroudedKeyBag)
  const [key, another] = keys
  if (key === undefined || another !== undefined)
    throw pkiError('malformed', 'The PKCS#12 file must contain exactly one private key.')
  const certificates = bags.flatMap((bag) =>
    bag.identifier === oid.certificateBag ? [readBagCertificate(bag)] : [],
  )
  const own = certificates.findIndex(
    ({ localKeyId }) =>
      localKeyId !== undefined &&
      key.localKeyId !== undefined &&
      Buffer.compare(localKeyId, key.localKeyId) === 0,
  )
  if (own > 0) certificates.unshift(...certificates.splice(own, 1))
  return {
    privateKey: await readPrivateKey(key, password),
    friendlyName: key.friendlyName ?? certificates[0]?.friendlyName,
    certificates: certificates.map(({ der }) => der),
  }
}

async function readPrivateKey({ identifier, value }: Bag, password: string): Promise<Uint8Array> {
  if (identifier === oid.keyBag) return value
  const [algorithm, encrypted] = derMembers(value, what)
  return unprotect(password, algorithm, derContent(encrypted, derTag.octetString, what))
}

function readBagCertificate({ value, localKeyId, friendlyName }: Bag) {
  const [identifier, wrapped] = derMembers(value, what)
  if (derIdentifier(identifier, what) !== oid.x509Certificate)
    throw pkiError('malformed', 'The PKCS#12 file contains a certificate that is not X.509.')
  const [der] = derElements(derContent(wrapped, contextTag(0), what), what)
  return { der: derContent(der, derTag.octetString, what), localKeyId, friendlyName }
}
