import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { HttpsClient } from '@warder/command-line/https-client'
import { type Installation, startInstallation, temporaryHome } from 'warder/testing'
import { seedKeys } from './seed.ts'

/**
 * Measures hot and cold operations of the key management service beside a few keys, and again beside very many: hot
 * ones must not change, cold ones stay under 2 ms, lists go page by page.
 *
 * Run: `node bench/kms/large.ts [--keys 1000000] [--samples 2000]`
 */
const { values } = parseArgs({
  options: { keys: { type: 'string', default: '1000000' }, samples: { type: 'string', default: '2000' } },
})
const samples = Number(values.samples)
const data = Buffer.alloc(64, 1).toString('base64url')
const print = (line: string): void => void process.stdout.write(`${line}\n`)

interface Session {
  readonly ask: (path: string, json?: unknown) => Promise<number>
  readonly make: (json: object) => Promise<string>
  close(): void
}

async function logIn(warder: Installation): Promise<Session> {
  const headers = { authorization: `Bearer ${await warder.adminToken()}` }
  const kms: HttpsClient = warder.client('kms')
  const send = async (path: string, json: unknown) => {
    const answer = await kms.ask(path, json === undefined ? { headers } : { json, headers })
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    return answer
  }
  return {
    async ask(path, json) {
      const began = performance.now()
      await send(path, json)
      return performance.now() - began
    },
    make: async (json) => ((await send('/v1/crypto/keys', json)).json as { kid: string }).kid,
    close: () => kms.close(),
  }
}

const encryptWith = (kid: string) => ({ kid, alg: 'dir', enc: 'A256GCM', data })

async function times(count: number, run: (index: number) => Promise<number>): Promise<number[]> {
  const list: number[] = []
  for (let index = 0; index < count; index += 1) list.push(await run(index))
  return list.sort((a, b) => a - b)
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN

function show(what: string, sorted: readonly number[]): number {
  print(`  ${what.padEnd(52)} p50 ${at(sorted, 0.5).toFixed(3)} ms   p99 ${at(sorted, 0.99).toFixed(3)} ms`)
  return at(sorted, 0.5)
}

async function hot(session: Session): Promise<number> {
  const kid = await session.make({ kty: 'oct', alg: 'A256GCM' })
  const encrypt = () => session.ask('/v1/crypto/encrypt', encryptWith(kid))
  await times(500, encrypt)
  const median = show('encrypt with one key (hot)', await times(samples * 2, encrypt))
  show('create a key', await times(200, () => session.ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })))
  show('GET /.well-known/jwks.json', await times(200, () => session.ask('/.well-known/jwks.json')))
  return median
}

const home = temporaryHome()
try {
  let warder = await startInstallation({ home })
  let session = await logIn(warder)
  print('a few keys')
  const before = await hot(session)
  session.close()
  await warder.stop()

  const count = Number(values.keys)
  const { own, granted, seconds } = await seedKeys(home, 'admin', count)
  print(`\n${count.toLocaleString('en')} keys and as many grants (seeded in ${seconds.toFixed(0)} s)`)
  warder = await startInstallation({ home })
  session = await logIn(warder)
  const after = await hot(session)
  const fresh = (list: readonly string[], offset: number) => (index: number) =>
    list[(offset + index * 7) % list.length] ?? ''
  const most = Math.min(samples, Math.floor(own.length / 20))
  const [first, second, third] = [fresh(own, 0), fresh(own, 1), fresh(granted, 0)]
  // The first encryption with a key reserves some of its budget on disk; reading requests do not.
  show(
    'encrypt, each time another key (cold)',
    await times(most, (index) => session.ask('/v1/crypto/encrypt', encryptWith(first(index)))),
  )
  show(
    'encrypt by a grant, each time another key (cold)',
    await times(most, (index) => session.ask('/v1/crypto/encrypt', encryptWith(third(index)))),
  )
  show(
    'GET a key, each time another (cold)',
    await times(most, (index) => session.ask(`/v1/crypto/keys/${second(index)}`)),
  )
  show(
    'GET /access/list, each time another',
    await times(most, (index) => session.ask(`/access/list/${second(index)}`)),
  )
  for (const limit of [10, 1000]) {
    for (const [name, list] of [
      ['owned', own],
      ['obtained', granted],
    ] as const) {
      const after = fresh(list, 3)
      const pages = await times(60, (index) =>
        session.ask(`/access/${name}?limit=${limit}&after=${after(index * 31)}`),
      )
      show(`GET /access/${name}, ${limit} of many, anywhere in the list`, pages)
    }
  }
  print(`\nhot encrypt beside many keys: ${(after / before).toFixed(2)} times that beside a few`)
  session.close()
  await warder.stop()
} finally {
  rmSync(home, { recursive: true, force: true })
}
