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
const maxOutputLength = 4096

/** The keyring of this system, if there is a program that speaks with it. Whether it works shows when it is used. */
export function findKeyring(env: Env, platform = process.platform): Keyring | undefined {
  if (platform === 'darwin') return createKeychain(env)
  // Without a session bus it would start one of its own, with an empty keyring that ends with it.
  const hasBus = env.DBUS_SESSION_BUS_ADDRESS !== undefined && env.DBUS_SESSION_BUS_ADDRESS !== ''
  return platform === 'linux' && hasBus ? createSecretService(env) : undefined
}

/** libsecret's command. Secrets go through its standard input: other users can read arguments. */
function createSecretService(env: Env): Keyring {
  const formatAttributes = (account: string): readonly string[] => ['service', service, 'account', account]
  return {
    name: 'the keyring of the desktop',
    async put(account, secret) {
      const words = ['store', '--label', 'Warder login', ...formatAttributes(account)]
      return (await run('secret-tool', words, secret, env)) !== undefined
    },
    get: (account) => run('secret-tool', ['lookup', ...formatAttributes(account)], '', env),
    async remove(account) {
      await run('secret-tool', ['clear', ...formatAttributes(account)], '', env)
    },
  }
}

/** The keychain. `security -i` reads its commands from standard input: `-w SECRET` as an argument could be seen. */
function createKeychain(env: Env): Keyring {
  const formatNames = (account: string): string => `-s ${service} -a ${account}`
  const runSecurity = (command: string): Promise<string | undefined> =>
    run('/usr/bin/security', ['-i'], `${command}\n`, env)
  return {
    name: 'the keychain',
    async put(account, secret) {
      const answer = await runSecurity(`add-generic-password -U ${formatNames(account)} -w ${secret}`)
      return answer !== undefined
    },
    get: (account) =>
      run('/usr/bin/security', ['find-generic-password', ...formatNames(account).split(' '), '-w'], '', env),
    async remove(account) {
      await runSecurity(`delete-generic-password ${formatNames(account)}`)
    },
  }
}

/** @returns what it wrote, one line end less; undefined when it is not there, fails, or takes too long */
function run(program: string, args: readonly string[], input: string, env: Env): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env, timeout: withinMs })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      if (output.length < maxOutputLength) output += text.toString('utf8')
    })
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => resolve(code === 0 ? output.replace(/\n$/, '') : undefined))
    // A program that does not read what it is given has ended, which is told by its exit code.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
