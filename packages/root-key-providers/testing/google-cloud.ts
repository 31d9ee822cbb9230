import assert from 'node:assert/strict'
import {
  createCipheriv,
  createDecipheriv,
  generateKeyPairSync,
  randomBytes,
  verify as verifySignature,
} from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32c } from '../google/kms.ts'
import { type CloudServer, type Received, type Scripted, startCloudServer } from './cloud-server.ts'

const key = 'projects/warder-test/locations/europe-west3/keyRings/warder/cryptoKeys/root'
const scope = 'https://www.googleapis.com/auth/cloudkms'
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

interface KmsRequest {
  readonly plaintext?: string
  readonly plaintextCrc32c?: string
  readonly ciphertext?: string
  readonly ciphertextCrc32c?: string
  readonly additionalAuthenticatedData: string
  readonly additionalAuthenticatedDataCrc32c: string
}

/** An error of a Google API. */
export function failGoogle(status: number, code: string, message: string): Scripted {
  return { status, body: { error: { code: status, message, status: code } } }
}

/** Cloud KMS with one key, and the token endpoint for one service account. */
export interface GoogleCloud {
  readonly cloud: CloudServer
  readonly key: string
  readonly scope: string
  /** Key file of the service account, and its content. */
  readonly file: string
  readonly account: Readonly<Record<string, string>>
  readonly state: {
    /** The token that Cloud KMS accepts now. */
    accepted: string
    /** The primary version of the key. */
    version: number
    /** Tokens that were given. */
    tokens: number
  }
  readonly serveKms: (request: Received) => Scripted
}

export async function startGoogleCloud(): Promise<GoogleCloud> {
  const material = randomBytes(32)
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const state = { accepted: 'token-1', version: 1, tokens: 0 }

  /** `encrypt` and `decrypt` of Cloud KMS v1, as its reference describes them. */
  function serveKms({ method, path, headers, body }: Received): Scripted {
    if (headers.authorization !== `Bearer ${state.accepted}`)
      return failGoogle(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    const [, name, operation] = /^\/v1\/(.+):(encrypt|decrypt)$/.exec(path) ?? []
    if (method !== 'POST' || name !== key) return failGoogle(404, 'NOT_FOUND', `CryptoKey ${name} not found.`)
    const request = JSON.parse(body.toString()) as KmsRequest
    const aad = Buffer.from(request.additionalAuthenticatedData, 'base64')
    assert.equal(request.additionalAuthenticatedDataCrc32c, String(crc32c(aad)))
    if (operation === 'encrypt') {
      const plaintext = Buffer.from(request.plaintext ?? '', 'base64')
      assert.equal(request.plaintextCrc32c, String(crc32c(plaintext)))
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', material, iv).setAAD(aad)
      const data = Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
      return {
        status: 200,
        body: {
          name: `${key}/cryptoKeyVersions/${state.version}`,
          ciphertext: base64(data),
          ciphertextCrc32c: String(crc32c(data)),
          verifiedPlaintextCrc32c: true,
          verifiedAdditionalAuthenticatedDataCrc32c: true,
          protectionLevel: 'SOFTWARE',
        },
      }
    }
    try {
      const bytes = Buffer.from(request.ciphertext ?? '', 'base64')
      assert.equal(request.ciphertextCrc32c, String(crc32c(bytes)))
      const decipher = createDecipheriv('aes-256-gcm', material, bytes.subarray(0, 12)).setAAD(aad)
      decipher.setAuthTag(bytes.subarray(-16))
      const plaintext = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
      return {
        status: 200,
        body: {
          plaintext: base64(plaintext),
          plaintextCrc32c: String(crc32c(plaintext)),
          usedPrimary: true,
          protectionLevel: 'SOFTWARE',
        },
      }
    } catch {
      return failGoogle(400, 'INVALID_ARGUMENT', 'Decryption failed: the ciphertext is invalid.')
    }
  }

  /** The token endpoint of Google: verifies the JWT of the service account (RFC 7523 §3). */
  function serveToken({ headers, body }: Received): Scripted {
    assert.equal(headers['content-type'], 'application/x-www-form-urlencoded')
    const form = new URLSearchParams(body.toString())
    assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer')
    const [header = '', claims = '', signature = ''] = form.get('assertion')?.split('.') ?? []
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    assert.deepEqual(decode(header), { alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    const { iss, scope: requested, aud, iat, exp } = decode(claims)
    assert.deepEqual([iss, requested, aud, exp - iat], [account.client_email, scope, account.token_uri, 3600])
    const signed = Buffer.from(`${header}.${claims}`)
    if (!verifySignature('sha256', signed, publicKey, Buffer.from(signature, 'base64url')))
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
    state.tokens += 1
    return { status: 200, body: { access_token: state.accepted, expires_in: 3599, token_type: 'Bearer' } }
  }

  const cloud = await startCloudServer((request) =>
    request.path === '/token' ? serveToken(request) : serveKms(request),
  )

  const file = join(cloud.folder, 'account.json')
  const account = {
    type: 'service_account',
    project_id: 'warder-test',
    private_key_id: 'key-1',
    private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    client_email: 'warder@warder-test.iam.gserviceaccount.com',
    token_uri: `${cloud.url}/token`,
    universe_domain: 'googleapis.com',
  }
  writeFileSync(file, JSON.stringify(account), { mode: 0o600 })
  return { cloud, key, scope, file, account, state, serveKms }
}
