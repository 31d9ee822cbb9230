import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect, createSecureContext, type SecureContext } from 'node:tls'
import { readPasswordFile, readPrivateFile, StartupError } from '@warder/base'
import {
  boolean,
  byteString,
  decodeNode,
  Enumeration,
  encodeNode,
  enumeration,
  frameLength,
  integer,
  KmipDecodeError,
  kmipVersion,
  type OperationName,
  optional,
  readResponse,
  requireMember,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
  writeRequest,
} from '@warder/kmip-codec'
import { findRoute, type OutboundAccess, openConnection } from '@warder/outbound'
import { readPkcs12Pair } from '@warder/pki'
import { type RootKeyProvider, RootKeyUnavailable } from '@warder/storage'
import type { RootKeyConfig } from './settings.ts'

type Config = Pick<RootKeyConfig, Extract<keyof RootKeyConfig, `root_key_kmip.${string}`>> &
  Pick<OutboundAccess, 'proxy'>

const timeoutMs = 10_000
const maxResponseBytes = 65_536
const tagBytes = 16

/**
 * Wraps the root key with an AES key of a KMIP server (Encrypt and Decrypt, KMIP 1.4 §4.29, §4.30): AES-GCM with the
 * context as additional data, and an IV of the server. Wrapped bytes: length of the IV (1) | IV | tag (16) | ciphertext.
 * @throws StartupError for settings that are missing, and for files that cannot be used
 */
export function createKmipProvider(config: Config, resolvePath: (path: string) => string): RootKeyProvider {
  const server = requireSetting(config, 'server')
  const keyId = requireSetting(config, 'key_id')
  const address = parseAddress(server)
  const files = readFiles(config, resolvePath)
  // Certificates that were renewed meanwhile count at the next use.
  const call = (operation: OperationName, members: readonly TtlvNode[]): Promise<StructureNode> =>
    exchange(operation, [textString(Tag.UniqueIdentifier, keyId), gcm, ...members], {
      server,
      address,
      context: files(),
      proxy: config.proxy,
    })
  files()
  return {
    source: 'kmip',
    description: `kmip://${server} ${keyId}`,
    async wrap(key, context) {
      const payload = await call('Encrypt', [byteString(Tag.Data, key), additionalData(context)])
      const iv = optional(payload, Tag.IVCounterNonce, 'ByteString')
      const tag = optional(payload, Tag.AuthenticatedEncryptionTag, 'ByteString')
      if (iv === undefined || iv.length > 255 || tag?.length !== tagBytes)
        throw new StartupError(
          `${server} did not encrypt with AES-GCM: its response has no IV or tag (KMIP 1.4)`,
        )
      return Buffer.concat([Buffer.of(iv.length), iv, tag, requireMember(payload, Tag.Data, 'ByteString')])
    },
    async unwrap(wrapped, context) {
      const ivEnd = 1 + (wrapped[0] ?? 0)
      const payload = await call('Decrypt', [
        byteString(Tag.Data, wrapped.subarray(ivEnd + tagBytes)),
        byteString(Tag.IVCounterNonce, wrapped.subarray(1, ivEnd)),
        additionalData(context),
        byteString(Tag.AuthenticatedEncryptionTag, wrapped.subarray(ivEnd, ivEnd + tagBytes)),
      ])
      return requireMember(payload, Tag.Data, 'ByteString')
    },
  }
}

const gcm = structure(Tag.CryptographicParameters, [
  enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode.GCM),
  enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
  boolean(Tag.RandomIV, true),
  integer(Tag.TagLength, tagBytes),
])

function additionalData(context: Uint8Array): TtlvNode {
  return byteString(Tag.AuthenticatedEncryptionAdditionalData, context)
}

function requireSetting(config: Config, name: 'server' | 'key_id' | 'cert_file' | 'key_file'): string {
  const value = config[`root_key_kmip.${name}`]
  if (value === undefined) throw new StartupError(`root_key_source kmip requires root_key_kmip.${name}`)
  return value
}

interface Address {
  readonly host: string
  readonly port: number
}

/** @param server as the check of the setting admits it */
function parseAddress(server: string): Address {
  const end = server.lastIndexOf(':')
  return { host: server.slice(0, end).replace(/^\[|\]$/g, ''), port: Number(server.slice(end + 1)) }
}

function readFiles(config: Config, resolvePath: (path: string) => string): () => SecureContext {
  const readPair = createPairReader(config, resolvePath)
  const ca = config['root_key_kmip.ca_file']
  return () => {
    try {
      const { description, ...pair } = readPair()
      const { validToDate: end } = new X509Certificate(pair.cert)
      // The server would end the handshake without a reason.
      if (end.getTime() < Date.now())
        throw new StartupError(`${description} has expired at ${end.toISOString()}: renew it`)
      return createSecureContext({
        ...pair,
        ...(ca !== undefined && { ca: readFileSync(resolvePath(ca)), allowPartialTrustChain: true }),
      })
    } catch (error) {
      if (error instanceof StartupError) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new StartupError(`root_key_kmip: the certificate, key or authorities cannot be used: ${reason}`)
    }
  }
}

/** Reads the client certificate and its key. @throws StartupError for settings that are missing or contradict each other */
function createPairReader(
  config: Config,
  resolvePath: (path: string) => string,
): () => { readonly cert: string | Buffer; readonly key: string | Buffer; readonly description: string } {
  const {
    'root_key_kmip.p12_file': p12,
    'root_key_kmip.p12_password_file': passwordFile,
    'root_key_kmip.cert_file': pem,
  } = config
  if (p12 !== undefined && pem !== undefined)
    throw new StartupError('root_key_kmip.p12_file is set and root_key_kmip.cert_file too: set only one')
  if (p12 === undefined) {
    if (passwordFile !== undefined)
      throw new StartupError('root_key_kmip.p12_password_file requires root_key_kmip.p12_file')
    const cert = resolvePath(requireSetting(config, 'cert_file'))
    const key = resolvePath(requireSetting(config, 'key_file'))
    return () => ({
      cert: readFileSync(cert),
      key: readPrivateFile(key, 'root_key_kmip.key_file'),
      description: `root_key_kmip.cert_file: the certificate ${cert}`,
    })
  }
  const file = resolvePath(p12)
  return () => ({
    ...readPkcs12Pair(
      readPrivateFile(file, 'root_key_kmip.p12_file'),
      passwordFile === undefined
        ? ''
        : readPasswordFile(resolvePath(passwordFile), 'root_key_kmip.p12_password_file'),
    ),
    description: `root_key_kmip.p12_file: the certificate of ${file}`,
  })
}

interface Target {
  /** As the settings name it. */
  readonly server: string
  readonly address: Address
  readonly context: SecureContext
  readonly proxy: OutboundAccess['proxy']
}

/** One request on a connection of its own: a root key is unwrapped too rarely to keep one. */
async function exchange(
  operation: OperationName,
  members: readonly TtlvNode[],
  target: Target,
): Promise<StructureNode> {
  const version = kmipVersion(1, 4)
  if (version === undefined) throw new Error('KMIP 1.4 is not in the tables')
  const message = writeRequest({
    version,
    bare: false,
    header: emptyHeader,
    items: [
      {
        operation,
        payload: structure(Tag.RequestPayload, members),
        extensions: [],
        ...{ uniqueBatchItemId: undefined, ephemeral: undefined, refusal: undefined },
      },
    ],
  })
  const bytes = await send(encodeNode(message, 'ttlv'), target)
  try {
    return readPayload(bytes, operation, target.server)
  } catch (error) {
    if (!(error instanceof KmipDecodeError)) throw error
    throw new StartupError(`${target.server} sent no valid KMIP response: ${error.message}`, { cause: error })
  }
}

const emptyHeader = {
  maximumResponseSize: maxResponseBytes,
  clientCorrelationValue: undefined,
  serverCorrelationValue: undefined,
  asynchronous: undefined,
  batchErrorContinuation: undefined,
  batchOrder: undefined,
  timeStamp: undefined,
  authentication: undefined,
}

function readPayload(bytes: Uint8Array, operation: OperationName, server: string): StructureNode {
  const [item] = readResponse(decodeNode(bytes, 'ttlv')).items
  if (item?.status === 'Success' && item.payload !== undefined)
    return structure(Tag.ResponsePayload, item.payload)
  const message = (item?.message ?? '').replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300)
  throw new StartupError(
    `${server} refused ${operation} with ${item?.reason ?? item?.status ?? 'no result'}: ${message}`,
  )
}

async function send(request: Uint8Array, { server, address, context, proxy }: Target): Promise<Uint8Array> {
  const connection = await openRoute(address, proxy)
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const { host } = address
  const socket = connect({
    ...{ socket: connection, host },
    ...(isIP(host) === 0 && { servername: host }),
    secureContext: context,
    rejectUnauthorized: true,
  })
  const timer = setTimeout(
    () => reject(new RootKeyUnavailable(`${server} did not respond within ${timeoutMs} ms`)),
    timeoutMs,
  )
  let received = Buffer.alloc(0)
  socket.once('secureConnect', () => socket.write(request))
  socket.on('data', (part: Buffer) => {
    received = Buffer.concat([received, part])
    try {
      const length = frameLength(received, maxResponseBytes)
      if (length !== undefined && received.length >= length) resolve(received.subarray(0, length))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      reject(new StartupError(`${server} sent no valid KMIP response: ${reason}`))
    }
  })
  socket.on('error', (error) => reject(new RootKeyUnavailable(error.message, { cause: error })))
  socket.on('close', () => reject(new RootKeyUnavailable(`${server} closed the connection`)))
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}

/** Only the operator sets the address, so it may be private. @throws RootKeyUnavailable */
async function openRoute(address: Address, proxy: OutboundAccess['proxy']): Promise<Duplex> {
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const route = await findRoute(
      { ...address, scheme: 'tls' },
      { allowPrivateNetworks: true, proxy },
      deadline,
    )
    return await openConnection(route, deadline)
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new RootKeyUnavailable((error as Error).message, { cause: error })
  }
}
