import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, startInstallation, temporaryHome } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

// Who starts Warder with an older Node talks to a launcher, not to Warder.

const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))
const onWindows = process.platform === 'win32' && 'signals are those of POSIX'

/** A Node of this machine that is older than what the services run on: the entry hands over to that one. */
const oldNode = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .filter((node) => existsSync(node))
  .find((node) => {
    const [, major = '99'] = /^v(\d+)\./.exec(spawnSync(node, ['--version']).stdout.toString()) ?? []
    return Number(major) >= 20 && Number(major) < 26
  })
const skip = onWindows || (oldNode === undefined && 'no Node 20 to 25 is in PATH here')

interface Launched {
  readonly home: string
  readonly launcher: ChildProcess
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>
  output(): string
  /** Process ids of everything that was started below. */
  readonly below: readonly number[]
}

const groups: number[] = []
afterEach(() => {
  // Whatever a failed test left running.
  for (const group of groups.splice(0)) {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      // It is gone, as it should be.
    }
  }
})

async function launch(command: string, args: readonly string[]): Promise<Launched> {
  const home = temporaryHome()
  const launcher = spawn(command, [...args, 'start', '--home', home], {
    env: cleanEnvironment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, as a terminal and systemd give it.
    detached: true,
  })
  groups.push(launcher.pid ?? 0)
  let text = ''
  const collect = (part: Buffer): void => {
    text += part.toString()
  }
  launcher.stdout?.on('data', collect)
  launcher.stderr?.on('data', collect)
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    launcher.once('close', (code, signal) => resolve({ code, signal })),
  )
  await until('it is started', () => text.includes('Warder is running.') || launcher.exitCode !== null)
  return { home, launcher, exited, output: () => text, below: descendants(launcher.pid ?? 0) }
}

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children
    .filter((child) => child !== '')
    .flatMap((child) => [Number(child), ...descendants(Number(child))])
}

function isGone(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return true
  }
}

/** Both services stopped in order: that is the last record of each log, but for the count of commits. */
function assertOrderly(home: string): void {
  for (const service of ['auth', 'kms']) {
    const folder = join(home, 'audit', service)
    const log = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    const operations = readFileSync(join(folder, log.at(-1) ?? ''), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).operation)
      .filter((operation) => operation !== 'database.commits')
    assert.equal(operations.at(-1), 'service.stop', `${service} was not stopped in order`)
  }
}

/** Nothing was left behind: the next start in this home works, and stops. */
async function assertStartsAgain(home: string): Promise<void> {
  const again = await startInstallation({ home })
  assert.equal(await again.stop(), 0)
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} to a launcher under an older Node stops both services in order`, { skip }, async () => {
    const { home, launcher, exited, below, output } = await launch(oldNode ?? '', [entry])
    assert.equal(below.length, 3, 'Warder and its services')
    launcher.kill(signal)
    assert.deepEqual(await exited, { code: 0, signal: null }, output())
    assert.ok(below.every(isGone))
    assertOrderly(home)
    await assertStartsAgain(home)
    rmSync(home, { recursive: true })
  })
}

test('SIGHUP to a launcher under an older Node reads the certificates again, and nothing ends', {
  skip,
}, async () => {
  const { home, launcher, exited, below, output } = await launch(oldNode ?? '', [entry])
  launcher.kill('SIGHUP')
  const read = (): number => output().match(/certificates were reloaded/g)?.length ?? 0
  await until('both have read them', () => read() === 2 || launcher.exitCode !== null)
  assert.ok(!below.some(isGone))
  launcher.kill('SIGTERM')
  assert.deepEqual(await exited, { code: 0, signal: null }, output())
  rmSync(home, { recursive: true })
})

test('a launcher that is killed takes the services with it, in order', { skip }, async () => {
  const { home, launcher, below } = await launch(oldNode ?? '', [entry])
  launcher.kill('SIGKILL')
  await until('all of them are gone', () => below.every(isGone))
  assertOrderly(home)
  assert.ok(!existsSync(join(home, 'endpoints.json')))
  rmSync(home, { recursive: true })
})

test('a supervisor that is killed takes the services with it, in order', { skip: onWindows }, async () => {
  const { home, launcher, below } = await launch(process.execPath, [entry])
  launcher.kill('SIGKILL')
  await until('both are gone', () => below.every(isGone))
  assertOrderly(home)
  await assertStartsAgain(home)
  rmSync(home, { recursive: true })
})

for (const [name, command] of [
  ['this Node', process.execPath],
  ['an older Node', oldNode],
] as const) {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    // Ctrl-C in a terminal, `systemctl stop` (KillMode=control-group): every process gets the signal.
    test(`${signal} to the whole process group stops in order: ${name}`, {
      skip: onWindows || (command === undefined && skip),
    }, async () => {
      const { home, launcher, exited, output } = await launch(command ?? '', [entry])
      process.kill(-(launcher.pid ?? 0), signal)
      assert.deepEqual(await exited, { code: 0, signal: null }, output())
      assertOrderly(home)
      rmSync(home, { recursive: true })
    })
  }

  test(`as process 1 of a container it stops in order on SIGTERM: ${name}`, {
    skip:
      onWindows ||
      (command === undefined && skip) ||
      (spawnSync('unshare', ['-r', '--pid', '--fork', '--kill-child', 'true']).status !== 0 &&
        'no namespace of processes can be made here'),
  }, async () => {
    const namespace = ['-r', '--pid', '--fork', '--kill-child', command ?? '', entry]
    const { home, launcher, exited, output, below } = await launch('unshare', namespace)
    const [first = 0] = below
    process.kill(first, 'SIGTERM')
    assert.deepEqual(await exited, { code: 0, signal: null }, output())
    assert.equal(launcher.exitCode, 0)
    assert.ok(below.every(isGone))
    assertOrderly(home)
    rmSync(home, { recursive: true })
  })
}

test('a service whose supervisor is killed while it starts ends, too', { skip: onWindows }, async () => {
  const home = temporaryHome()
  const supervisor = spawn(process.execPath, [entry, 'start', '--home', home], {
    env: cleanEnvironment({}),
    stdio: 'ignore',
  })
  let below: readonly number[] = []
  await until('the services are there', () => {
    below = descendants(supervisor.pid ?? 0)
    return below.length === 2
  })
  supervisor.kill('SIGKILL')
  await until('both are gone', () => below.every(isGone))
  rmSync(home, { recursive: true })
})
