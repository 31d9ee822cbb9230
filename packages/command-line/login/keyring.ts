import { spawn } from 'node:child_process'

/** Secret store of the operating system, which is unlocked by the login of the user. */
export interface Keyring {
  /** In words: `the keyring of the desktop`. */
  readonly name: string
  /** @returns whether it was stored */
  put(account: string, secret: string): Promise<boolean>
  get(account: string): Promise<string | undefined>
  remove(account: string): Promise<void>
}

type Env = Readonly<Record<string, string | undefined>>

const service = 'warder'
/** Allows the user to unlock the keyring. */
const withinMs = 30_000
const maxOutputLength = 4096

/** Finds the keyring of this system. Its use may still fail. */
export function findKeyring(env: Env, platform = process.platform): Keyring | undefined {
  if (platform === 'darwin') return createKeychain(env)
  // Without a session bus, secret-tool would start its own bus with an empty, temporary keyring.
  const hasBus = env.DBUS_SESSION_BUS_ADDRESS !== undefined && env.DBUS_SESSION_BUS_ADDRESS !== ''
  return platform === 'linux' && hasBus ? createSecretService(env) : undefined
}

/** The command of libsecret. Secrets are passed on standard input, because other users can read arguments. */
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

/** The keychain. `security -i` reads its commands from standard input, because other users can read arguments. */
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

/** @returns the output without the last line end; undefined when the program is missing, fails, or times out */
function run(program: string, args: readonly string[], input: string, env: Env): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env, timeout: withinMs })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      if (output.length < maxOutputLength) output += text.toString('utf8')
    })
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => resolve(code === 0 ? output.replace(/\n$/, '') : undefined))
    // If the program ends before it reads its input, its exit code shows the reason.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
