import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type HttpsClient, httpsClient } from '@warder/command-line/https-client'
import { command } from './program.ts'

/** A complete installation in a temporary home, started as a user starts it: for scenarios and for the benchmark. */
export interface Installation {
  readonly home: string
  readonly authUrl: string
  readonly kmsUrl: string
  readonly caFile: string
  readonly password: string
  readonly process: ChildProcess
  /** Everything written to standard output and standard error so far. */
  output(): string
  client(service: 'auth' | 'kms'): HttpsClient
  /** Logs the first administrator in. @returns the session's token */
  adminToken(): Promise<string>
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>
  /** SIGKILL to it and both services, as when the machine loses its power. */
  kill(): Promise<void>
  /** Process ids of the services. */
  pid(service: 'auth' | 'kms'): number
}

type Env = Readonly<Record<string, string>>

const startWithinMs = 60_000

/** The environment of a started Warder: none of the caller's settings leak into it. */
export function cleanEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(WARDER|AUTH|KMS)_|^NODE_TEST/.test(name),
  )
  return {
    ...Object.fromEntries(inherited),
    // Contexts of the developer would make commands use other services. Nothing is there.
    XDG_CONFIG_HOME: join(tmpdir(), `warder-no-config-${process.pid}`),
    AUTH_PORT: '0',
    KMS_PORT: '0',
    KMS_SOCKET_SERVER_PORT: '0',
    AUTH_WORKERS: '1',
    KMS_WORKERS: '1',
    ...env,
  }
}

/** Starts `warder`. @param input of its standard input; undefined: it has none */
function spawnWarder(args: readonly string[], env: Env, input: string | undefined): ChildProcess {
  const [file, ...words] = command
  const child = spawn(file, [...words, ...args], {
    env: cleanEnvironment(env),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  // A program that has ended reads no more.
  child.stdin?.on('error', () => undefined).end(input)
  return child
}

/** Runs `warder` with these words until it ends. */
export async function runWarder(
  args: readonly string[],
  env: Env = {},
  input?: string,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawnWarder(args, env, input)
  let [out, err] = ['', '']
  child.stdout?.on('data', (text) => {
    out += text
  })
  child.stderr?.on('data', (text) => {
    err += text
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, out, err }
}

/** Runs `warder`, which has to succeed. @returns its output */
export async function succeed(args: readonly string[], env: Env = {}, input?: string): Promise<string> {
  const { code, out, err } = await runWarder(args, env, input)
  assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`)
  return out
}

/**
 * Runs `warder`, which dies by SIGKILL at the moment at which it prints a step: nothing is done after it.
 * @returns its output, which contains the step
 */
export async function killAfter(
  step: string,
  args: readonly string[],
  env: Env = {},
  input?: string,
): Promise<string> {
  const preloaded = `
    const write = process.stdout.write.bind(process.stdout)
    process.stdout.write = (text, ...rest) => {
      const taken = write(text, ...rest)
      if (String(text).includes(${JSON.stringify(step)})) process.kill(process.pid, 'SIGKILL')
      return taken
    }`
  const options = `--import=data:text/javascript,${encodeURIComponent(preloaded)}`
  const { out, err } = await runWarder(args, { ...env, NODE_OPTIONS: options }, input)
  assert.ok(out.includes(step), `no step ${step}: ${out}${err}`)
  return out
}

/** The three lines to paste, of what a start printed. */
export function readLinesToPaste(output: string): readonly string[] {
  const told = output.split('\n').find((line) => line.includes('Warder is running.')) ?? '{"lines":[]}'
  return (JSON.parse(told) as { lines: readonly string[] }).lines
}

/** A new, empty folder for a home; the caller removes it. */
export function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'warder-'))
}

export async function startInstallation(
  options: {
    readonly home?: string
    readonly env?: Readonly<Record<string, string>>
    /** The program of another version: its `bin/warder.mjs`. Default: this one. */
    readonly program?: string
    /** More words for `warder start`. */
    readonly args?: readonly string[]
  } = {},
): Promise<Installation> {
  const home = options.home ?? temporaryHome()
  // After a kill the old one is still there, until the start removes it.
  rmSync(join(home, 'endpoints.json'), { force: true })
  const [file, ...words] =
    options.program === undefined ? command : ([process.execPath, options.program] as const)
  const child = spawn(file, [...words, 'start', '--home', home, ...(options.args ?? [])], {
    env: cleanEnvironment(options.env ?? {}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const collect = (text: Buffer): void => {
    // Bounded: a test that logs without end must not fill the memory of its runner.
    if (output.length < 1_000_000) output += text.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const path = join(home, 'endpoints.json')
  const until = performance.now() + startWithinMs
  // The welcome is printed after the file is written, and comes through a pipe: tests read its lines.
  const started = (): boolean => existsSync(path) && output.includes('Warder is running.')
  while (!started()) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > until) {
      child.kill('SIGKILL')
      throw new Error(`Warder did not start:\n${output}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const endpoints = JSON.parse(readFileSync(path, 'utf8')) as { auth: { url: string }; kms: { url: string } }
  const caFile = join(home, 'tls', 'ca.crt')
  const passwordFile = join(home, 'initial-admin-password')
  const password = options.env?.WARDER_ADMIN_PASSWORD ?? readFileSync(passwordFile, 'utf8').trim()
  const client = (service: 'auth' | 'kms'): HttpsClient => httpsClient(endpoints[service].url, caFile)
  return {
    home,
    authUrl: endpoints.auth.url,
    kmsUrl: endpoints.kms.url,
    caFile,
    password,
    process: child,
    output: () => output,
    client,
    async adminToken() {
      const auth = client('auth')
      try {
        return await logInAdmin(auth, password)
      } finally {
        auth.close()
      }
    },
    async stop() {
      child.kill('SIGTERM')
      const code = await ended
      if (options.home === undefined) rmSync(home, { recursive: true, force: true })
      return code
    },
    async kill() {
      const services = [servicePid(child.pid ?? 0, 'auth'), servicePid(child.pid ?? 0, 'kms')]
      child.kill('SIGKILL')
      for (const pid of services) process.kill(pid, 'SIGKILL')
      await ended
    },
    pid: (service) => servicePid(child.pid ?? 0, service),
  }
}

/** Starts an installation for all tests of a file, and stops it when they are done. */
export async function startSharedInstallation(
  env: Readonly<Record<string, string>> = {},
): Promise<Installation> {
  const warder = await startInstallation({ env })
  after(() => warder.stop())
  return warder
}

async function logInAdmin(auth: HttpsClient, password: string): Promise<string> {
  const basic = Buffer.from(`admin:${password}`).toString('base64')
  const answer = await auth.ask('/login?realm=_', { json: {}, headers: { authorization: `Basic ${basic}` } })
  const token = /^_ea_=([^;]+)/.exec([answer.headers['set-cookie']].flat()[0] ?? '')?.[1]
  if (token === undefined) throw new Error(`nobody was let in: ${answer.status} ${answer.text}`)
  return token
}

/** Finds the child process that runs `warder auth` or `warder kms` (Linux). */
function servicePid(parent: number, service: string): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
  const found = children.find((pid) => {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words[words.indexOf('--supervised') - 1] === service
  })
  if (found === undefined) throw new Error(`no process of ${service} below ${parent}`)
  return found
}
