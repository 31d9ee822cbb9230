import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publicJwk, signToken } from '@warder/server'
import { type Caller, caller } from './client.ts'
import { issuer } from './start.ts'

const command =
  process.env.WARDER_TEST_PROGRAM ?? fileURLToPath(new URL('../../warder/bin/warder.mjs', import.meta.url))
const startWithinMs = 60_000

/** Shared by several started services: the root key, the signer of tokens, and the place of their homes. */
export interface Site extends Disposable {
  readonly folder: string
  token(user: string): string
  /** Starts the service in its own process, as `warder kms` does. */
  start(options: ProcessOptions): Promise<ServiceProcess>
}

export interface ProcessOptions {
  /** Of the home, in the site; the same name again is the same home. */
  readonly name: string
  readonly databaseUrl: string
  readonly env?: Readonly<Record<string, string>>
  /** Largest file that the process may write, as `ulimit -f` sets it: a real refusal of the kernel. */
  readonly maxFileBytes?: number
  /** Runs as this user, who owns the home; only root can ask for it. */
  readonly uid?: number
}

export interface ServiceProcess {
  readonly home: string
  readonly process: ChildProcess
  /** A caller with a token of this user. */
  user(name: string): Caller
  output(): string
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>
  /** SIGKILL. */
  kill(): Promise<void>
}

export function createSite(): Site {
  const folder = mkdtempSync(join(tmpdir(), 'warder-site-'))
  const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = publicJwk(signer.publicKey)
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [jwk] }))
  const rootKey = randomBytes(32).toString('base64url')
  const running = new Set<ServiceProcess>()
  const token = (user: string): string => {
    const now = Math.floor(Date.now() / 1000)
    const header = { alg: 'ES256', typ: 'JWT', kid: jwk.kid } as const
    return signToken(
      header,
      { iss: issuer, iat: now, exp: now + 3600, sub: user, aud: ['_'], as_rid: '_' },
      signer.privateKey,
    )
  }
  return {
    folder,
    token,
    async start(options) {
      const home = join(folder, options.name)
      mkdirSync(home, { recursive: true, mode: 0o700 })
      const child = spawnService(home, folder, rootKey, options)
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (text: Buffer) => {
          if (output.length < 1_000_000) output += text.toString()
        })
      const url = await ready(child, () => output)
      const agents: Agent[] = []
      // Not `exit`: only now all that it wrote has come through its pipes.
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
      const end = async (signal: NodeJS.Signals): Promise<number | null> => {
        for (const agent of agents) agent.destroy()
        child.kill(signal)
        running.delete(made)
        return ended
      }
      const made: ServiceProcess = {
        home,
        process: child,
        user: (name) =>
          caller(
            {
              port: Number(new URL(url).port),
              ca: readFileSync(join(home, 'tls', 'ca.crt'), 'utf8'),
              headers: { authorization: `Bearer ${token(name)}` },
            },
            agents,
          ),
        output: () => output,
        stop: () => end('SIGTERM'),
        kill: async () => void (await end('SIGKILL')),
      }
      running.add(made)
      return made
    },
    [Symbol.dispose]() {
      for (const service of running) service.process.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function spawnService(home: string, site: string, rootKey: string, options: ProcessOptions): ChildProcess {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(WARDER|AUTH|KMS|UI)_|^NODE_TEST/.test(name),
  )
  const env = {
    ...Object.fromEntries(inherited),
    KMS_PORT: '0',
    KMS_SOCKET_SERVER_PORT: '0',
    KMS_WORKERS: '1',
    KMS_DATABASE_URL: options.databaseUrl,
    KMS_ROOT_KEY_SOURCE: 'environment',
    WARDER_ROOT_KEY: rootKey,
    KMS_AUTH_VERIFIER_JWKS: `file:${join(site, 'jwks.json')}`,
    ...options.env,
  }
  const args = [command, 'kms', '--supervised', '--home', home]
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const
  const account = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }
  if (options.maxFileBytes === undefined)
    return spawn(process.execPath, args, { env, stdio: [...stdio], ...account })
  // POSIX: blocks of 512 bytes.
  const blocks = Math.ceil(options.maxFileBytes / 512)
  return spawn('sh', ['-c', `ulimit -S -f ${blocks} && exec "$0" "$@"`, process.execPath, ...args], {
    env,
    stdio: [...stdio],
  })
}

/** The address that the service says it is reached under, once it serves. */
function ready(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`the service did not start:\n${output()}`))
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      failed()
    }, startWithinMs)
    // Not `exit`: the error has to show its last output.
    child.once('close', () => {
      clearTimeout(timer)
      failed()
    })
    child.once('message', (message: { readonly url: string }) => {
      clearTimeout(timer)
      child.removeAllListeners('close')
      resolve(message.url)
    })
  })
}
