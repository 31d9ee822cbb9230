import { createPrivateKey, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  boolean,
  byteString,
  dateTime,
  decodeNode,
  Enumeration,
  encodeNode,
  enumeration,
  integer,
  type OperationName,
  structure,
  Tag,
  type TtlvNode,
  writeRequest,
} from '@warder/kmip-codec'
import { emptyHeader, readResponse } from '@warder/kmip-codec/testing'
import { issueCertificate } from '@warder/server'
import type { Installation } from 'warder/testing'
import { type Endpoint, openConnection, readFrame } from '../load/connection.ts'
import type { Scenario } from '../scenarios.ts'

const day = 24 * 60 * 60 * 1000
/** ResultStatus Success, as bytes. */
const success = '42007f05000000040000000000000000'
const encryptMask = 0x4
const decryptMask = 0x8

type Identity = NonNullable<Endpoint['identity']>

/**
 * KMIP 2.1 over the socket in binary and over HTTPS in JSON, each with the bare echo of the same bytes as its limit.
 * The installation needs its own authority for clients: `KMS_CLIENTS_CA_CERT_FILE=tls/ca.crt`.
 */
export async function prepareKmipScenarios(
  warder: Installation,
  echoes: { readonly httpsUrl: string; readonly frameUrl: string },
): Promise<readonly Scenario[]> {
  const identity = await clientIdentity(warder.home)
  const { kmip } = JSON.parse(readFileSync(join(warder.home, 'endpoints.json'), 'utf8')) as {
    kmip: { host: string; port: number }
  }
  const place: Endpoint = {
    host: '127.0.0.1',
    port: kmip.port,
    ca: readFileSync(warder.caFile, 'utf8'),
    identity,
  }
  const created = await exchange(place, 'Create', createPayload())
  const id = created.find(({ tag }) => tag === Tag.UniqueIdentifier)
  if (id === undefined) throw new Error('Create gave no identifier')
  const encrypt = encryptPayload(id)
  const binary = (name: string, operation: OperationName, payload: readonly TtlvNode[]): Scenario => ({
    name,
    server: 'kms',
    method: 'KMIP',
    url: `kmip://127.0.0.1:${kmip.port}`,
    headers: {},
    body: messageBytes(operation, payload).toString('base64'),
    identity,
    expect: { status: 0, includes: success },
  })
  const socket = binary('KMIP Encrypt AES-GCM 64 B, socket', 'Encrypt', encrypt)
  const json: Scenario = {
    name: 'KMIP Encrypt AES-GCM 64 B, JSON',
    server: 'kms',
    method: 'POST',
    url: `${warder.kmsUrl}/kmip/2_1`,
    headers: {},
    body: encodeNode(structure(Tag.RequestPayload, encrypt), 'json')
      .toString()
      .replace('"RequestPayload"', '"Encrypt"'),
    identity,
    expect: { status: 200, includes: 'EncryptResponse' },
  }
  const beside = (scenario: Scenario): Scenario => ({
    ...scenario,
    limit: {
      ...scenario,
      name: 'frame echo',
      server: 'frame echo',
      url: echoes.frameUrl,
      expect: expectEcho(scenario),
    },
  })
  return [
    beside(socket),
    beside({ ...socket, name: `${socket.name}, 128 connections`, connections: 128 }),
    {
      ...json,
      limit: {
        ...json,
        name: 'echo',
        server: 'echo',
        url: `${echoes.httpsUrl}/`,
        expect: { status: 200, includes: 'Encrypt' },
      },
    },
    {
      ...binary('KMIP Create AES-256, socket, 64 at a time', 'Create', createPayload()),
      connections: 64,
    },
  ]
}

function expectEcho({ body }: Scenario): Scenario['expect'] {
  return { status: 0, includes: Buffer.from(body ?? '', 'base64').toString('hex') }
}

function createPayload(): readonly TtlvNode[] {
  return [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.SymmetricKey),
    structure(Tag.Attributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
      integer(Tag.CryptographicLength, 256),
      integer(Tag.CryptographicUsageMask, encryptMask | decryptMask),
      dateTime(Tag.ActivationDate, Math.floor(Date.now() / 1000)),
    ]),
  ]
}

function encryptPayload(id: TtlvNode): readonly TtlvNode[] {
  return [
    id,
    structure(Tag.CryptographicParameters, [
      enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
      boolean(Tag.RandomIV, true),
      integer(Tag.TagLength, 16),
    ]),
    byteString(Tag.Data, randomBytes(64)),
  ]
}

function messageBytes(operation: OperationName, payload: readonly TtlvNode[]): Buffer {
  const message = writeRequest({
    version: '2.1',
    bare: false,
    header: emptyHeader,
    items: [
      {
        operation,
        uniqueBatchItemId: undefined,
        ephemeral: undefined,
        payload: structure(Tag.RequestPayload, payload),
        extensions: [],
        refusal: undefined,
      },
    ],
  })
  return Buffer.from(encodeNode(message, 'ttlv'))
}

/** One message over a connection of its own. @returns the members of the ResponsePayload */
async function exchange(
  place: Endpoint,
  operation: OperationName,
  payload: readonly TtlvNode[],
): Promise<readonly TtlvNode[]> {
  const connection = await openConnection(place, readFrame)
  const { body } = await connection.exchange(messageBytes(operation, payload))
  connection.close()
  const item = readResponse(decodeNode(body, 'ttlv')).items[0]
  if (item?.status !== 'Success') throw new Error(`${operation}: ${item?.reason}: ${item?.message}`)
  return item.payload ?? []
}

/** A client certificate of the installation's own authority. */
async function clientIdentity(home: string): Promise<Identity> {
  const file = (name: string): string => readFileSync(join(home, 'tls', name), 'utf8')
  const { certificatePem, keyPem } = await issueCertificate(
    {
      commonName: 'kmip-bench',
      purpose: 'client',
      hostnames: [],
      addresses: [],
      notBefore: new Date(Date.now() - day),
      notAfter: new Date(Date.now() + day),
    },
    { certificatePem: file('ca.crt'), privateKey: createPrivateKey(file('ca.key')) },
  )
  return { cert: certificatePem, key: keyPem }
}
