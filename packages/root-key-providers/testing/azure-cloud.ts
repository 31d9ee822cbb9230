import assert from 'node:assert/strict'
import {
  constants,
  createCipheriv,
  createDecipheriv,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CloudServer, type Received, type Scripted, startCloudServer } from './cloud-server.ts'

const tenant = '11111111-2222-4333-8444-555555555555'
const clientId = '66666666-7777-4888-8999-aaaaaaaaaaaa'
const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** An error of Key Vault. */
export function failAzure(status: number, code: string, inner?: string): Scripted {
  const more = inner !== undefined && { innererror: { code: inner } }
  return { status, body: { error: { code, message: 'because.', ...more } } }
}

interface Material {
  readonly rsa: KeyObject
  readonly aes: Buffer
}

/** A vault with the key `root`, and the token endpoint of one tenant. */
export interface AzureCloud {
  readonly cloud: CloudServer
  readonly tenant: string
  readonly clientId: string
  readonly secretFile: string
  /** Versions of the key; the last one is current. */
  readonly versions: ReadonlyMap<string, Material>
  addVersion(name: string): void
  readonly state: {
    /** The token that the vault accepts at present. */
    accepted: string
    keyType: string
  }
  /** Requests of the token endpoint. */
  readonly forms: URLSearchParams[]
  readonly serveVault: (request: Received) => Scripted
}

export async function startAzureCloud(): Promise<AzureCloud> {
  const versions = new Map<string, Material>()
  const addVersion = (name: string): void => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    versions.set(name, { rsa: privateKey, aes: randomBytes(32) })
  }
  addVersion('0123456789abcdef0123456789abcdef')

  const state = { accepted: 'token-1', keyType: 'RSA' }

  /** wrapkey, unwrapkey, encrypt and decrypt of Key Vault 7.4, as its reference describes them. */
  function serveVault({ method, path, headers, body }: Received): Scripted {
    if (headers.authorization !== `Bearer ${state.accepted}`) return failAzure(401, 'Unauthorized')
    const [, named, operation] =
      /^\/keys\/root\/([0-9a-f]{32})\/(wrapkey|unwrapkey|encrypt|decrypt)\?api-version=7\.4$/.exec(path) ?? []
    const current = [...versions.keys()].at(-1)
    if (method === 'GET' && path === '/keys/root?api-version=7.4')
      return {
        status: 200,
        body: { key: { kid: `${cloud.url}/keys/root/${current}`, kty: state.keyType }, attributes: {} },
      }
    const version = named ?? ''
    const material = versions.get(version)
    if (method !== 'POST' || operation === undefined || material === undefined)
      return failAzure(404, 'KeyNotFound')
    const request = JSON.parse(body.toString()) as Record<string, string>
    const value = Buffer.from(request.value ?? '', 'base64url')
    const reply = (members: Record<string, string>): Scripted => ({
      status: 200,
      body: { kid: `${cloud.url}/keys/root/${version}`, ...members },
    })
    const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
    const fixed = Buffer.alloc(8, 0xa6)
    try {
      switch (`${operation} ${request.alg}`) {
        case 'wrapkey RSA-OAEP-256':
          return reply({ value: base64url(publicEncrypt({ key: material.rsa, ...oaep }, value)) })
        case 'unwrapkey RSA-OAEP-256':
          return reply({ value: base64url(privateDecrypt({ key: material.rsa, ...oaep }, value)) })
        case 'wrapkey A256KW': {
          const cipher = createCipheriv('id-aes256-wrap', material.aes, fixed)
          return reply({ value: base64url(Buffer.concat([cipher.update(value), cipher.final()])) })
        }
        case 'unwrapkey A256KW': {
          const decipher = createDecipheriv('id-aes256-wrap', material.aes, fixed)
          return reply({ value: base64url(Buffer.concat([decipher.update(value), decipher.final()])) })
        }
        case 'encrypt A256GCM': {
          const iv = randomBytes(12)
          const cipher = createCipheriv('aes-256-gcm', material.aes, iv)
          cipher.setAAD(Buffer.from(request.aad ?? '', 'base64url'))
          const data = Buffer.concat([cipher.update(value), cipher.final()])
          return reply({ value: base64url(data), iv: base64url(iv), tag: base64url(cipher.getAuthTag()) })
        }
        case 'decrypt A256GCM': {
          const iv = Buffer.from(request.iv ?? '', 'base64url')
          const decipher = createDecipheriv('aes-256-gcm', material.aes, iv)
          decipher.setAAD(Buffer.from(request.aad ?? '', 'base64url'))
          decipher.setAuthTag(Buffer.from(request.tag ?? '', 'base64url'))
          return reply({ value: base64url(Buffer.concat([decipher.update(value), decipher.final()])) })
        }
        default:
          return failAzure(400, 'BadParameter')
      }
    } catch {
      return failAzure(400, 'BadParameter')
    }
  }

  const forms: URLSearchParams[] = []
  function serveToken({ path, body }: Received): Scripted {
    assert.equal(path, `/${tenant}/oauth2/v2.0/token`)
    const form = new URLSearchParams(body.toString())
    assert.deepEqual(
      ['grant_type', 'client_id', 'scope'].map((name) => form.get(name)),
      ['client_credentials', clientId, 'https://127.0.0.1/.default'],
    )
    forms.push(form)
    return { status: 200, body: { token_type: 'Bearer', expires_in: 3599, access_token: state.accepted } }
  }

  const cloud = await startCloudServer((request) =>
    request.path.startsWith('/keys/') ? serveVault(request) : serveToken(request),
  )

  const secretFile = join(cloud.folder, 'client-secret')
  writeFileSync(secretFile, 'secret~1\n', { mode: 0o600 })
  return { cloud, tenant, clientId, secretFile, versions, addVersion, state, forms, serveVault }
}
