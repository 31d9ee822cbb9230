import {
  attributeMembers,
  findLinkTarget,
  type KeyFormat,
  type ManagedObject,
  readStoredAttributes,
  readStoredWithTag,
} from '@warder/keys'
import {
  byteString,
  Enumeration,
  enumeration,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { certificatesOnly, readPkcs12, writePkcs12 } from '@warder/pki'
import type { KmipContext } from '../../engine/types.ts'
import { KmipFailure, kmipFailure } from '../../failure/failure.ts'
import { type PlainKeyValue, readKeyBlock } from '../../key-blocks/key-block.ts'
import { keyFormatNumber } from '../../key-blocks/key-format.ts'
import type { WrappingSpecification } from '../../key-blocks/key-wrapping.ts'
import { readShape } from '../../key-blocks/object-shape.ts'
import { readManagedObject, type StoredObject } from '../../key-blocks/read-object.ts'
import { keyInForm, type WantedForm } from '../../key-blocks/write-object.ts'
import { findLinkedPassword } from '../objects/linked-password.ts'
import { newBrought } from '../objects/registered-object.ts'
import { link } from '../objects/replacement.ts'

/** Maximum number of certificates in a file or a chain. */
const maxChainLength = 32

export function isPkcs12(format: KeyFormat | undefined): boolean {
  return format === 'PKCS_12' || format === 'PKCS_12Legacy'
}

/** Contents of an imported PKCS#12 file. */
export interface BroughtFile {
  readonly key: StoredObject
  /** DER; the certificate of the key first. */
  readonly certificates: readonly Uint8Array[]
  /** Attributes of the key from the file. */
  readonly attributes: readonly TtlvNode[]
}

/**
 * Opens a PKCS#12 file with the password that the attributes link to (KMIP 2.1 §4.31, PKCS#12 Password Link).
 * @throws BadPassword (also without a link to one, KMIP 2.1 §11.46), InvalidField
 */
export async function readFile(
  value: PlainKeyValue,
  attributes: readonly TtlvNode[],
  context: KmipContext,
): Promise<BroughtFile> {
  if (value.material.type !== 'ByteString')
    throw kmipFailure('InvalidField', 'A PKCS#12 file must be a byte string.')
  const password = await findLinkedPassword(context, attributes)
  if (password === undefined)
    throw kmipFailure('BadPassword', 'A PKCS#12 file requires a PKCS#12 password link to its password.')
  const file = await readPkcs12(value.material.value, password)
  const node = structure(Tag.PrivateKey, [
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, keyFormatNumber('PKCS_8')),
      structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, file.privateKey)]),
    ]),
  ])
  try {
    const read = await readManagedObject('PrivateKey', node, {}, { fips: context.services.fips })
    const named = attributes.some(({ tag }) => tag === Tag.PKCS_12FriendlyName)
    return {
      // Get returns it in the default format of its algorithm unless the request names PKCS#12 (KMIP 2.1 §4.26).
      key: { ...read, shape: { ...read.shape, keyFormat: undefined } },
      certificates: file.certificates.slice(0, maxChainLength),
      attributes:
        file.friendlyName === undefined || file.friendlyName === '' || named
          ? []
          : [textString(Tag.PKCS_12FriendlyName, file.friendlyName)],
    }
  } finally {
    file.privateKey.fill(0)
  }
}

/** The key block of a private key in a PKCS#12 file. */
export function fileIn(node: StructureNode): PlainKeyValue | undefined {
  const { format, value } = readKeyBlock(node)
  return isPkcs12(format) && value !== undefined && !(value instanceof Uint8Array) ? value : undefined
}

/** The certificates of a file, staged. */
interface StagedCertificates {
  /** Links from the key to the first certificate. */
  readonly links: readonly TtlvNode[]
  /** The first certificate, which is that of the key. */
  readonly first: ManagedObject | undefined
}

/** Stages the certificates of a file as objects of their own, each linked to the next. */
export async function stageCertificates(
  context: KmipContext,
  { certificates }: BroughtFile,
): Promise<StagedCertificates> {
  let links: readonly TtlvNode[] = []
  let first: ManagedObject | undefined
  for (const der of certificates.toReversed()) {
    const node = structure(Tag.Certificate, [
      enumeration(Tag.CertificateType, Enumeration.CertificateType.X_509),
      byteString(Tag.CertificateValue, der),
    ])
    const stored = await readManagedObject('Certificate', node, {}, { fips: context.services.fips })
    first = context.objects.create(newBrought(context, stored, links))
    links = [link('PKCS_12CertificateLink', first.id), link('CertificateLink', first.id)]
  }
  return { links, first }
}

/** Links the certificate of a file to its key. */
export function linkToKey({ objects }: KmipContext, { first }: StagedCertificates, key: string): void {
  if (first === undefined) return
  const nodes = [...readStoredAttributes(first), link('PrivateKeyLink', key)]
  objects.update(first, attributeMembers(nodes, first))
}

/**
 * The private key with its certificates as a PKCS#12 file. Its password is that of the link in the key or in the
 * requested certificate; clients of other servers send it in place of the identifier of a wrapping key.
 * @param object the private key
 * @throws KeyFormatTypeNotSupported, BadPassword without a password
 */
export async function writeFile(
  context: KmipContext,
  object: ManagedObject,
  material: Uint8Array,
  wanted: WantedObject,
): Promise<StructureNode> {
  const { services } = context
  const shape = readShape(object)
  const format = wanted.format ?? 'PKCS_12'
  const legacy = format === 'PKCS_12Legacy'
  if (shape.objectType !== 'PrivateKey' || shape.form !== 'canonical' || (legacy && services.fips))
    throw kmipFailure('KeyFormatTypeNotSupported', 'This object cannot be returned as a PKCS#12 file.')
  const given = wanted.specification?.encryption?.identifier
  const password =
    (await findLinkedPassword(context, readStoredWithTag(object, Tag.Link))) ??
    (await findLinkedPassword(context, readStoredWithTag(context.object, Tag.Link))) ??
    (given?.type === 'TextString' ? given.value : undefined)
  if (password === undefined || password === '')
    throw kmipFailure('BadPassword', 'A PKCS#12 file requires a PKCS#12 password link to its password.')
  const pkcs8 = keyInForm(shape, material, { format: 'PKCS_8' }).material
  const [name] = readStoredWithTag(object, Tag.PKCS_12FriendlyName)
  const file = await writePkcs12(
    {
      privateKey: pkcs8.type === 'ByteString' ? pkcs8.value : material,
      friendlyName: name?.type === 'TextString' ? name.value : undefined,
      certificates: await certificatesFor(context, object),
    },
    password,
    { legacy },
  )
  return structure(Tag.PrivateKey, [
    structure(Tag.KeyBlock, [
      enumeration(Tag.KeyFormatType, keyFormatNumber(format)),
      structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, file)]),
    ]),
  ])
}

/**
 * The certificates that the key or its public key links to (KMIP 2.1 §6.1.19); for a requested certificate, that one
 * and its issuers.
 */
async function certificatesFor(context: KmipContext, key: ManagedObject): Promise<readonly Uint8Array[]> {
  const asked = context.object
  if (asked.id === key.id) {
    const own = await findChain(context, key)
    if (own.length > 0) return own
    const open = findLinkTarget(key, 'PublicKeyLink') ?? key.linkedId
    const half = open === undefined ? undefined : await readable(context, open)
    return half === undefined ? [] : findChain(context, half)
  }
  const material = await context.objects.material(asked)
  return [...(material === undefined ? [] : [material]), ...(await findChain(context, asked))]
}

/** A certificate and its issuers as a PKCS#7 file without signatures (RFC 2315 §9.1). */
export async function writeChain(context: KmipContext, certificate: Uint8Array): Promise<StructureNode> {
  const chain = [certificate, ...(await findChain(context, context.object))]
  return structure(Tag.Certificate, [
    enumeration(Tag.CertificateType, Enumeration.CertificateType.PKCS_7),
    byteString(Tag.CertificateValue, certificatesOnly(chain)),
  ])
}

/** The certificates that an object links to, as far as they are stored here and the caller may get them. */
async function findChain(context: KmipContext, from: ManagedObject): Promise<readonly Uint8Array[]> {
  const chain: Uint8Array[] = []
  const seen = new Set<string>([from.id])
  let at: ManagedObject | undefined = from
  while (at !== undefined && chain.length < maxChainLength) {
    const next: string | undefined =
      findLinkTarget(at, 'PKCS_12CertificateLink') ?? findLinkTarget(at, 'CertificateLink')
    if (next === undefined || seen.has(next)) break
    seen.add(next)
    at = await readable(context, next)
    const material = at?.type === 'Certificate' ? await context.objects.material(at) : undefined
    if (material === undefined) break
    chain.push(material)
  }
  return chain
}

async function readable(context: KmipContext, id: string): Promise<ManagedObject | undefined> {
  try {
    return await context.permitted(id, 'get')
  } catch (error) {
    if (error instanceof KmipFailure) return undefined
    throw error
  }
}

/** The requested form of an object in Get and Export (KMIP 2.1 §6.1.19, §6.1.18). */
export interface WantedObject extends WantedForm {
  readonly wrapType: 'NotWrapped' | 'AsRegistered' | undefined
  readonly specification: WrappingSpecification | undefined
}
