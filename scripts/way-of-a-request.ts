// Which source files a request passes through: `node scripts/way-of-a-request.ts [--list]`.
//
// A whole key management service runs in this process, and V8 counts calls of functions (precise coverage) while one
// request is answered. A file is on the way when one of its functions was called between the first byte of the request
// and the last of the reply; loading a module is no call of this kind. Requests have been answered before, so that what
// is done once for a process is done; the key of the request has not been used before, so that it is read and unsealed.
// Its own files are those that a request which only asks about its sender does not pass through: GET /me, and
// DiscoverVersions of KMIP.
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { aesAttributes, type KmipClient, kmipClient, objectType } from '@warder/kmip-server/testing'
import { startKms } from '@warder/kms/testing'

const root = fileURLToPath(new URL('..', import.meta.url))
const session = new Session()

/** The files of the packages in which functions are called while `act` runs, in the order of their names. */
async function listFiles(act: () => Promise<void>): Promise<ReadonlySet<string>> {
  await session.post('Profiler.takePreciseCoverage')
  await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const called = result
    .filter(({ url, functions }) => {
      const [module, ...inside] = functions
      const top = module?.functionName === '' ? inside : functions
      return url.startsWith('file:') && top.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
    })
    .map(({ url }) => relative(root, fileURLToPath(url)).replaceAll('\\', '/'))
    .filter((file) => file.startsWith('packages/') && !/(^|\/)testing\//.test(file))
  return new Set(called.sort())
}

/** The bytes that a client of KMIP 2.1 sends for one operation. */
async function encodeMessage(...ask: Parameters<KmipClient['ask']>): Promise<Uint8Array> {
  const made: Uint8Array[] = []
  const onlyWritten = (): Promise<never> => Promise.reject(new Error('only written'))
  const client = kmipClient({
    call(_method, _path, { bytes = new Uint8Array() } = {}) {
      made.push(bytes)
      return onlyWritten()
    },
    get: onlyWritten,
    post: onlyWritten,
    del: onlyWritten,
  })
  await client.ask(...ask).catch(() => undefined)
  return made[0] ?? new Uint8Array()
}

async function succeeds(answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> {
  const { status, text } = await answer
  if (status >= 300) throw new Error(`${status} ${text}`)
}

interface Way {
  readonly name: string
  readonly files: ReadonlySet<string>
  /** Files that another request of the same interface passes through. */
  readonly ofInterface: ReadonlySet<string>
}

async function measureRequests(): Promise<readonly Way[]> {
  await using kms = await startKms()
  const alice = kms.user('alice')
  const key = async (): Promise<string> =>
    (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
  const encrypt = (kid: string) =>
    succeeds(alice.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data: 'aGVsbG8' }))
  const kmip = (bytes: Uint8Array) =>
    succeeds(alice.call('POST', '/kmip', { bytes, headers: { 'content-type': 'application/octet-stream' } }))
  const create = await encodeMessage('Create', [objectType('SymmetricKey'), aesAttributes()])
  const discover = await encodeMessage('DiscoverVersions')
  const whoAmI = () => succeeds(alice.get('/me'))
  await encrypt(await key())
  await kmip(create)
  await whoAmI()
  const kid = await key()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const ways = [
    {
      name: 'POST /v1/crypto/encrypt',
      ofInterface: await listFiles(whoAmI),
      files: await listFiles(() => encrypt(kid)),
    },
    {
      name: 'KMIP Create',
      ofInterface: await listFiles(() => kmip(discover)),
      files: await listFiles(() => kmip(create)),
    },
  ]
  session.disconnect()
  return ways
}

for (const { name, files, ofInterface } of await measureRequests()) {
  const own = [...files].filter((file) => !ofInterface.has(file))
  const ofService = own.filter((file) => file.startsWith('packages/kms/')).length
  process.stdout.write(
    `${name}: ${own.length} files of its own, ${ofService} of them in packages/kms and the others in libraries; ` +
      `${files.size} with those of every request of the interface\n`,
  )
  if (process.argv.includes('--list'))
    for (const file of files) process.stdout.write(`  ${ofInterface.has(file) ? ' ' : '*'} ${file}\n`)
}
