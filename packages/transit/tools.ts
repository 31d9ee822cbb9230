import { createHash, randomBytes } from 'node:crypto'
import { failure, version } from '@warder/base'
import { digest, type HashAlgorithm, requireHash } from '@warder/crypto'
import { publicAccess, signedIn } from '@warder/keys'
import { get, methods, type Operation, rawReply } from '@warder/server'
import Type from 'typebox'
import { readHash } from './hash-name.ts'
import { common, writing } from './row.ts'
import { define, type TransitServices } from './services.ts'
import { answer, decodeBase64 } from './text.ts'

/** As Vault has it: more at one time is for several requests. */
const maxRandom = 131_072
const Text = Type.Optional(Type.String())

function formatBytes(bytes: Buffer, format: string): string {
  if (format !== 'base64' && format !== 'hex') throw failure('bad_request', 'format must be base64 or hex')
  return bytes.toString(format)
}

const randomRows = (
  [
    ['', '', Type.Object({})],
    ['.bytes', '/{bytes}', Type.Object({ bytes: Type.String() })],
  ] as const
).map(([suffix, more, pathParameters]) =>
  define({
    ...common,
    name: `transit.random${suffix}`,
    route: methods(writing, `/v1/transit/random${more}`),
    summary: 'Random bytes',
    reach: [],
    access: signedIn,
    pathParameters,
    bodyOptional: true,
    request: Type.Object({ bytes: Type.Optional(Type.Union([Type.Integer(), Type.String()])), format: Text }),
    act({ body, path }) {
      const bytes = Number(('bytes' in path ? path.bytes : undefined) ?? body?.bytes ?? 32)
      if (!Number.isInteger(bytes) || bytes < 1 || bytes > maxRandom)
        throw failure('bad_request', `bytes must be 1 to ${maxRandom}`)
      return answer({ random_bytes: formatBytes(randomBytes(bytes), body?.format ?? 'base64') })
    },
  }),
)

const hashRows = (
  [
    ['', '', Type.Object({})],
    ['.name', '/{hash}', Type.Object({ hash: Type.String() })],
  ] as const
).map(([suffix, more, pathParameters]) =>
  define({
    ...common,
    name: `transit.hash${suffix}`,
    route: methods(writing, `/v1/transit/hash${more}`),
    summary: 'Hash data',
    reach: [],
    access: signedIn,
    pathParameters,
    request: Type.Object({ input: Type.String(), algorithm: Text, format: Text }),
    act({ body, path }, { services }) {
      const name = readHash(('hash' in path ? path.hash : undefined) ?? body.algorithm ?? 'sha2-256')
      const hash: HashAlgorithm = requireHash({ hashingAlgorithm: name }, services.policy)
      return answer({
        sum: formatBytes(digest(hash, decodeBase64(body.input, 'input')), body.format ?? 'hex'),
      })
    },
  }),
)

/** Says which installation it is, and nothing about it. */
function clusterId(baseUrl: string): string {
  const hex = createHash('sha256').update(baseUrl).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** `GET /v1/sys/health`: 200 when it serves, 503 as a sealed Vault answers when its database does not. */
export const health = (baseUrl: string): Operation<TransitServices> =>
  define({
    ...common,
    name: 'transit.health',
    reach: ['reveal public'],
    route: get('/v1/sys/health'),
    summary: 'Health of the service, with Vault’s statuses',
    access: publicAccess,
    foreignParameters: {
      names: [
        'standbyok',
        'perfstandbyok',
        'standbycode',
        'performancestandbycode',
        'drsecondarycode',
        'uninitcode',
      ],
      because: 'Parameters of Vault probes that set statuses of states that do not occur here.',
    },
    audited: false,
    errors: { 503: 'The database does not respond: reported as a sealed Vault.' },
    async act(_input, { services }) {
      const { db, clock } = services
      const sealed = await db.ping().then(
        () => false,
        () => true,
      )
      const json = {
        initialized: true,
        sealed,
        standby: false,
        performance_standby: false,
        replication_performance_mode: 'disabled',
        replication_dr_mode: 'disabled',
        server_time_utc: Math.floor(clock.now() / 1000),
        version,
        cluster_name: 'warder',
        cluster_id: clusterId(baseUrl),
      }
      return sealed ? rawReply({ status: 503, json }) : json
    },
  })

export const toolRows: readonly Operation<TransitServices>[] = [...randomRows, ...hashRows]
