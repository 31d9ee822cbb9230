import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@warder/base'
import { createOutbound } from '@warder/outbound'
import { signAwsRequest } from '@warder/outbound/sigv4'
import { ensureLocalAuthority } from '@warder/server'
import { canRun } from '../clients/run-program.ts'

const { WARDER_MOTO: folder } = process.env
const python = folder === undefined ? {} : { PYTHONPATH: folder }

/** Why moto cannot be run; undefined: it can. */
export function findMissingMoto(): string | undefined {
  return canRun('python3', ['-c', 'import moto.server, flask_cors'], python)
    ? undefined
    : "moto is not installed: pip install --target FOLDER 'moto[server]', and name the folder in WARDER_MOTO"
}

/** An access key of a user. */
export interface MotoUser {
  readonly id: string
  readonly secret: string
}

/** moto, a stand-in for AWS: KMS, STS and IAM over TLS. It verifies signatures once `enforce` was called. */
export interface Moto {
  readonly url: string
  readonly caFile: string
  /** @returns the ARN of a symmetric key */
  createKey(): Promise<string>
  /** A user who may encrypt and decrypt. */
  createUser(name: string): Promise<MotoUser>
  /** A role with this right. @returns its ARN */
  createRole(name: string): Promise<string>
  /** Whether requests need a signature by a user or role that may make them. */
  enforce(required: boolean): Promise<void>
  stop(): Promise<void>
}

const region = 'eu-central-1'
const policy = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: ['kms:Encrypt', 'kms:Decrypt'], Resource: '*' }],
})

export async function startMoto(): Promise<Moto> {
  const folder = mkdtempSync(join(tmpdir(), 'warder-moto-'))
  const certificates = [{ name: 'moto', commonName: 'moto' }]
  await ensureLocalAuthority({ folder, clock: systemClock, certificates })
  const files = ['--ssl-cert', join(folder, 'moto.crt'), '--ssl-key', join(folder, 'moto.key')]
  const child = spawn('python3', ['-m', 'moto.server', '--host', '127.0.0.1', '--port', '0', ...files], {
    env: { ...process.env, ...python },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const port = await readPort(child)
  const caFile = join(folder, 'ca.crt')
  const url = `https://127.0.0.1:${port}`
  const outbound = createOutbound({ proxy: undefined, allowPrivateNetworks: true, caFile, timeoutMs: 30_000 })

  const send = async (service: string, headers: Record<string, string>, text: string): Promise<string> => {
    const body = Buffer.from(text)
    const request = { host: new URL(url).host, path: '/', headers, body }
    const signed = signAwsRequest(
      request,
      { id: 'AKIASETUP', secret: 'setup' },
      { region, service },
      Date.now(),
    )
    const answer = await outbound.post(`${url}/`, body, { headers: signed })
    const reply = Buffer.from(answer.body).toString()
    if (answer.status !== 200) throw new Error(`moto: ${answer.status} ${reply}`)
    return reply
  }
  const iam = (members: Readonly<Record<string, string>>): Promise<string> =>
    send(
      'iam',
      { 'content-type': 'application/x-www-form-urlencoded' },
      new URLSearchParams({ Version: '2010-05-08', ...members }).toString(),
    )
  const read = (xml: string, name: string): string =>
    new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1] ?? ''

  return {
    url,
    caFile,
    async createKey() {
      const headers = {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': 'TrentService.CreateKey',
      }
      const { KeyMetadata } = JSON.parse(await send('kms', headers, '{}'))
      return KeyMetadata.Arn
    },
    async createUser(name) {
      await iam({ Action: 'CreateUser', UserName: name })
      await iam({ Action: 'PutUserPolicy', UserName: name, PolicyName: 'kms', PolicyDocument: policy })
      const xml = await iam({ Action: 'CreateAccessKey', UserName: name })
      return { id: read(xml, 'AccessKeyId'), secret: read(xml, 'SecretAccessKey') }
    },
    async createRole(name) {
      const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })
      const xml = await iam({ Action: 'CreateRole', RoleName: name, AssumeRolePolicyDocument: trust })
      await iam({ Action: 'PutRolePolicy', RoleName: name, PolicyName: 'kms', PolicyDocument: policy })
      return read(xml, 'Arn')
    },
    async enforce(required) {
      await outbound.post(`${url}/moto-api/reset-auth`, Buffer.from(required ? '0' : 'inf'))
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('close', resolve))
      if (child.exitCode === null && child.kill('SIGKILL')) await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The port that the server chose, of its log. */
function readPort(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stderr?.on('data', (part: Buffer) => {
      if (text.length < 100_000) text += part.toString()
      const [, port] = /Running on https:\/\/127\.0\.0\.1:(\d+)/.exec(text) ?? []
      if (port !== undefined) resolve(port)
    })
    child.once('close', () => reject(new Error(`moto did not start: ${text}`)))
  })
}
