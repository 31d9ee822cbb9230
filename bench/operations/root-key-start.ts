// Starts of both services by source of the root key, in turn with a start from a file:
// `node bench/operations/root-key-start.ts [--rounds 5]`. Sources without SoftHSM are left out where it is missing.
//
// The latency of a source is that of bare calls to it, two at a time, as both services make them: argon2id; a login and a
// decryption; a TLS connection; a session of the token and an encryption. A median is over the rounds, each of which has one
// start of every source. On a busy machine the processor time of both services is the figure to read.
import { argon2 } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { parseArgs, promisify } from 'node:util'
import { openToken } from '@warder/pkcs11'
import { createSofthsmToken, missingSofthsm } from '@warder/pkcs11/testing'
import { type Installation, runWarder, startInstallation, temporaryHome } from 'warder/testing'
import { median } from '../median.ts'
import { measureCost } from '../server/cost.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
const print = (line: string): void => void process.stdout.write(`${line}\n`)

type Env = Readonly<Record<string, string>>

interface Source {
  readonly name: string
  readonly env: Env
  /** A bare call to the source. */
  call(): Promise<unknown>
}

function forBoth(settings: Env): Env {
  const entries = Object.entries(settings)
  return Object.fromEntries(
    ['AUTH', 'KMS'].flatMap((name) => entries.map(([key, value]) => [`${name}_${key}`, value])),
  )
}

const file: Source = { name: 'file', env: {}, call: async () => undefined }

const passphrase: Source = {
  name: 'passphrase',
  env: { WARDER_ROOT_KEY_PASSPHRASE: 'correct horse battery staple' },
  call: () =>
    promisify(argon2)('argon2id', {
      ...{ message: 'correct horse battery staple', nonce: Buffer.alloc(16) },
      ...{ parallelism: 4, tagLength: 32, memory: 65_536, passes: 3 },
    }),
}

/** Transit and KMIP of another Warder. */
async function prepareKeys(keys: Installation): Promise<readonly Source[]> {
  const client = keys.client('kms')
  const post = async (path: string, json: object, headers = {}) => {
    const reply = await client.ask(path, { json, headers })
    if (reply.status >= 300) throw new Error(`${path} answered ${reply.status}: ${reply.text}`)
    return reply.json as { kid: string; auth: { client_token: string }; data: { ciphertext: string } }
  }
  const bearer = { authorization: `Bearer ${await keys.adminToken()}` }
  await post('/v1/transit/keys/warder', { type: 'aes256-gcm96' }, bearer)
  const { kid } = await post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' }, bearer)
  const words = ['admin', 'add-approle', 'root', '--realm', '_', '--token-ttl', '3600', '--home', keys.home]
  const { out } = await runWarder(words)
  const [role_id = '', secret_id = ''] = ['role id', 'secret id'].map(
    (name) => new RegExp(`^${name}: *(\\S+)`, 'm').exec(out)?.[1],
  )
  for (const [unique_identifier, user_id] of [
    [kid, 'kmip-client'],
    ['alias/transit/warder', 'app:root'],
  ])
    await post(
      '/access/grant',
      { unique_identifier, user_id, operation_types: ['encrypt', 'decrypt'] },
      bearer,
    )
  client.close()
  const secretFile = join(keys.home, 'secret-id')
  writeFileSync(secretFile, secret_id, { mode: 0o600 })
  const { kmip } = JSON.parse(readFileSync(join(keys.home, 'endpoints.json'), 'utf8'))
  const [certFile, keyFile] = ['client.crt', 'client.key'].map((name) => join(keys.home, 'tls', name))
  const transit: Source = {
    name: 'transit',
    env: forBoth({
      ROOT_KEY_TRANSIT_URL: keys.kmsUrl,
      ROOT_KEY_TRANSIT_KEY: 'warder@admin',
      ROOT_KEY_TRANSIT_CA_FILE: keys.caFile,
      ROOT_KEY_TRANSIT_ROLE_ID: role_id,
      ROOT_KEY_TRANSIT_SECRET_ID_FILE: secretFile,
    }),
    async call() {
      const one = keys.client('kms')
      const ask = async (path: string, json: object, headers = {}) =>
        (await one.ask(path, { json, headers })).json as {
          auth: { client_token: string }
          data: { ciphertext: string }
        }
      const { auth } = await ask('/v1/auth/approle/login', { role_id, secret_id })
      const token = { 'x-vault-token': auth.client_token }
      const { data } = await ask('/v1/transit/encrypt/warder%40admin', { plaintext: 'eA==' }, token)
      if (data.ciphertext === undefined) throw new Error('transit did not encrypt')
      one.close()
    },
  }
  const identity = {
    cert: readFileSync(certFile ?? ''),
    key: readFileSync(keyFile ?? ''),
    ca: readFileSync(keys.caFile),
  }
  const overKmip: Source = {
    name: 'kmip',
    env: forBoth({
      ROOT_KEY_KMIP_SERVER: `${kmip.host}:${kmip.port}`,
      ROOT_KEY_KMIP_KEY_ID: kid,
      ROOT_KEY_KMIP_CERT_FILE: certFile ?? '',
      ROOT_KEY_KMIP_KEY_FILE: keyFile ?? '',
      ROOT_KEY_KMIP_CA_FILE: keys.caFile,
    }),
    call: () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect({ ...identity, host: kmip.host, port: kmip.port }, () => {
          socket.destroy()
          resolve()
        })
        socket.once('error', reject)
      }),
  }
  return [transit, overKmip]
}

const stops: (() => unknown)[] = []
try {
  const keys = await startInstallation({
    env: { KMS_TRANSIT_ENABLED: 'true', KMS_VAULT_API_ENABLED: 'true' },
  })
  stops.push(() => keys.stop())
  const sources = [file, passphrase, ...(await prepareKeys(keys))]
  if (missingSofthsm === false) {
    const softhsm = createSofthsmToken()
    stops.push(() => softhsm[Symbol.dispose]())
    const { library, label, pinFile, env } = softhsm
    const settings = {
      ROOT_KEY_PKCS11_LIBRARY: library,
      ROOT_KEY_PKCS11_TOKEN_LABEL: label,
      ROOT_KEY_PKCS11_PIN_FILE: pinFile,
    }
    sources.push({
      name: 'pkcs11',
      env: { ...forBoth(settings), SOFTHSM2_CONF: env.SOFTHSM2_CONF ?? '' },
      async call() {
        const token = await openToken({ library, token: { label }, pinFile, env })
        await token.encrypt({ label: 'warder root key' }, Buffer.alloc(32))
        await token.close()
      },
    })
  } else print(missingSofthsm)

  /** Seconds until both services serve, and the seconds of processor time that they used. */
  const start = async ({ name, env }: Source, home: string) => {
    const began = performance.now()
    const warder = await startInstallation({
      home,
      env: { ...env, ...forBoth({ ROOT_KEY_SOURCE: name }) },
    })
    const wall = (performance.now() - began) / 1000
    const processor = measureCost([warder.pid('auth'), warder.pid('kms')]).cpuSeconds
    await warder.stop()
    return { wall, processor }
  }
  const room = temporaryHome()
  const prepared: {
    source: Source
    home: string
    starts: { wall: number; processor: number; more: number; latency: number; own: number }[]
  }[] = []
  for (const source of sources) {
    const home = join(room, source.name)
    mkdirSync(home, { mode: 0o700 })
    // The first start makes what is in the databases.
    await start(source, home)
    prepared.push({ source, home, starts: [] })
  }
  for (let round = 0; round < rounds; round += 1) {
    let base = 0
    for (const { source, home, starts } of prepared) {
      const { wall, processor } = await start(source, home)
      if (source === file) base = processor
      const [began, before] = [performance.now(), process.cpuUsage()]
      await Promise.all([source.call(), source.call()])
      const { user, system } = process.cpuUsage(before)
      const own = (user + system) / 1_000_000
      const latency = (performance.now() - began) / 1000
      starts.push({ wall, processor, more: processor - base - own, latency, own })
    }
  }
  for (const { source, starts } of prepared) {
    const middle = (name: keyof (typeof starts)[number]): string =>
      median(starts.map((one) => one[name])).toFixed(2)
    print(
      `${source.name}: ${middle('wall')} s, bare calls ${middle('latency')} s; processor time ${middle('processor')} s, ${middle('more')} s more than from a file and bare calls (${middle('own')} s)`,
    )
  }
} finally {
  for (const stop of stops.reverse()) await stop()
}
