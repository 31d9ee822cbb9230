import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import {
  Enumeration,
  enumeration,
  longInteger,
  requireType,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { activeSince, inside, keyBlock } from './keys.ts'
import type { KmipClient, Payload } from './kmip-client.ts'
import { aesAttributes, objectType, uid } from './nodes.ts'

export const symmetric = objectType('SymmetricKey')

/** Payload of Create for an active AES key. */
export const createRequest = (...more: readonly TtlvNode[]): readonly TtlvNode[] => [
  symmetric,
  aesAttributes(256, activeSince, ...more),
]

/** The unique identifiers of a response, in their order. */
export const listIds = ({ nodes }: Pick<Payload, 'nodes'>): readonly unknown[] =>
  nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value)

export const revocation = (code: keyof typeof Enumeration.RevocationReasonCode, message?: string): TtlvNode =>
  structure(Tag.RevocationReason, [
    enumeration(Tag.RevocationReasonCode, Enumeration.RevocationReasonCode[code]),
    message === undefined ? undefined : textString(Tag.RevocationMessage, message),
  ])

/** Creates an AES key of 256 bits. */
export async function createAesKey(client: KmipClient, ...more: readonly TtlvNode[]): Promise<string> {
  const { id } = await client.do('Create', [symmetric, aesAttributes(256, ...more)])
  return id
}

/** The attributes that GetAttributes returns for an object. */
export async function getAttributes(client: KmipClient, id: string): Promise<readonly TtlvNode[]> {
  const { nodes } = await client.do('GetAttributes', [uid(id)])
  return requireType(nodes.find(({ tag }) => tag === Tag.Attributes) ?? uid(''), 'Structure').value
}

/** The certificate that Get returns. */
export async function getCertificate(client: KmipClient, id: string): Promise<X509Certificate> {
  const { nodes } = await client.do('Get', [uid(id)])
  const found = nodes.find(({ tag }) => tag === Tag.Certificate)
  const value = inside(found, Tag.CertificateValue)?.value
  assert.ok(value instanceof Uint8Array)
  return new X509Certificate(value)
}

/** UsageLimits. */
export function usageLimits(
  total: bigint,
  unit: keyof typeof Enumeration.UsageLimitsUnit = 'Object',
  count?: bigint,
): TtlvNode {
  return structure(Tag.UsageLimits, [
    longInteger(Tag.UsageLimitsTotal, total),
    count === undefined ? undefined : longInteger(Tag.UsageLimitsCount, count),
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit[unit]),
  ])
}

/** SecretData with a password. */
export function passwordObject(text: string): StructureNode {
  return structure(Tag.SecretData, [
    enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
    keyBlock('Raw', Buffer.from(text)),
  ])
}
