import { spawn } from 'node:child_process'

/** Store of the operating system for a user's secrets, opened when they log in to it. */
export interface Keyring {
  /** In words: `the keyring of the desktop`. */
  readonly name: string
  /** @returns whether it was kept */
  put(account: string, secret: string): Promise<boolean>
  get(account: string): Promise<string | undefined>
  remove(account: string): Promise<void>
}

type Env = Readonly<Record<string, string | undefined>>

const service = 'warder'
/** Longer than a person takes to unlock a keyring that asks. */
const withinMs = 30_000
const mostOutput = 4096

/** The keyring of this system, if there is a program that speaks with it. Whether it works shows when it is used. */
export function systemKeyring(env: Env, platform = process.platform): Keyring | undefined {
  if (platform === 'darwin') return macos(env)
  // Without a session bus it would start one of its own, with an empty keyring that ends with it.
  const hasBus = env.DBUS_SESSION_BUS_ADDRESS !== undefined && env.DBUS_SESSION_BUS_ADDRESS !== ''
  return platform === 'linux' && hasBus ? secretService(env) : undefined
}

/** libsecret's command. Secrets go through its standard input: other users can read arguments. */
function secretService(env: Env): Keyring {
  const attributes = (account: string): readonly string[] => ['service', service, 'account', account]
  return {
    name: 'the keyring of the desktop',
    async put(account, secret) {
      const words = ['store', '--label', 'Warder login', ...attributes(account)]
      return (await run('secret-tool', words, secret, env)) !== undefined
    },
    get: (account) => run('secret-tool', ['lookup', ...attributes(account)], '', env),
    async remove(account) {
      await run('secret-tool', ['clear', ...attributes(account)], '', env)
    },
  }
}

/** The keychain. `security -i` reads its commands from standard input: `-w SECRET` as an argument could be seen. */
function macos(env: Env): Keyring {
  const names = (account: string): string => `-s ${service} -a ${account}`
  const ask = (command: string): Promise<string | undefined> =>
    run('/usr/bin/security', ['-i'], `${command}\n`, env)
  return {
    name: 'the keychain',
    async put(account, secret) {
      const answer = await ask(`add-generic-password -U ${names(account)} -w ${secret}`)
      return answer !== undefined
    },
    get: (account) =>
      run('/usr/bin/security', ['find-generic-password', ...names(account).split(' '), '-w'], '', env),
    async remove(account) {
      await ask(`delete-generic-password ${names(account)}`)
    },
  }
}

/** @returns what it wrote, one line end less; undefined when it is not there, fails, or takes too long */
function run(program: string, args: readonly string[], input: string, env: Env): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env, timeout: withinMs })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      if (output.length < mostOutput) output += text.toString('utf8')
    })
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => resolve(code === 0 ? output.replace(/\n$/, '') : undefined))
    // A program that does not read what it is given has ended, which is told by its exit code.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
