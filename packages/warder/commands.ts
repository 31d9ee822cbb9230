import type { Command } from './cli/command.ts'

/** A command as the overview shows it. Its code is loaded when it is called: most runs need one command of all. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** It may take long, and runs beside services: it gets the processor when nobody else wants it. */
  readonly background?: true
  load(): Promise<Command>
}

/** In the order of the overview. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'start',
    summary: 'starts both services; makes everything they need on the first run',
    load: async () => (await import('./start/command.ts')).start,
  },
  {
    name: 'try',
    summary: 'runs through login, keys, encryption and signatures against the started services',
    load: async () => (await import('./try/command.ts')).tryOut,
  },
  {
    name: 'health',
    summary: 'says whether both services of a home work',
    load: async () => (await import('./health/command.ts')).health,
  },
  {
    name: 'login',
    summary: 'logs in once, for every command until the session ends',
    load: async () => (await import('./session/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'ends the session that warder login keeps',
    load: async () => (await import('./session/logout.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'says who is logged in, until when, and how',
    load: async () => (await import('./session/whoami.ts')).whoami,
  },
  {
    name: 'keys',
    summary: 'makes, imports, lists, shows, tags, rotates, disables and destroys keys',
    load: async () => (await import('./keys/command.ts')).keys,
  },
  {
    name: 'crypto',
    summary: 'encrypts, decrypts, signs and verifies files with keys of the key management service',
    load: async () => (await import('./crypto/command.ts')).crypto,
  },
  {
    name: 'access',
    summary: 'decides who may do what with your keys, and shows it',
    load: async () => (await import('./access/command.ts')).access,
  },
  {
    name: 'officers',
    summary: 'crypto officers: what takes the approval of several people, and ceremonies',
    load: async () => (await import('./officers/command.ts')).officers,
  },
  {
    name: 'external',
    summary: 'lets clouds use keys that stay here, and cuts them off',
    load: async () => (await import('./external/command.ts')).external,
  },
  {
    name: 'pki',
    summary: 'makes certificate authorities, issues certificates and takes them back',
    load: async () => (await import('./pki/command.ts')).pki,
  },
  {
    name: 'kmip',
    summary:
      'sends KMIP messages, explains dumps, lists what a server can do, issues certificates for clients',
    load: async () => (await import('./kmip/command.ts')).kmip,
  },
  {
    name: 'admin',
    summary: 'lists realms, users and sessions, adds and removes users, machines and sessions',
    load: async () => (await import('./admin/command.ts')).admin,
  },
  {
    name: 'audit',
    summary: 'verifies the chained audit log, reads, exports, archives and prunes it',
    load: async () => (await import('./audit/command.ts')).audit,
  },
  {
    name: 'backup',
    summary: 'copies the installation into one encrypted file while it runs',
    background: true,
    load: async () => (await import('./backup/command.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'puts a backup into an empty home and empty databases',
    load: async () => (await import('./backup/command.ts')).restoreCommand,
  },
  {
    name: 'drill',
    summary: 'proves that a backup can be restored, in a home that is thrown away',
    background: true,
    load: async () => (await import('./drill/command.ts')).drillCommand,
  },
  {
    name: 'root-key',
    summary: 'gives the installation a new root key, without touching a row of data',
    load: async () => (await import('./root-key/command.ts')).rootKey,
  },
  {
    name: 'check',
    summary: 'says what a start would refuse, and what an upgrade would change',
    load: async () => (await import('./check/command.ts')).check,
  },
  {
    name: 'config',
    summary: 'prints every setting, checks your files, shows what is in force',
    load: async () => (await import('./config/command.ts')).config,
  },
  {
    name: 'auth',
    summary: 'starts the authentication service: who are you?',
    load: async () => (await import('./service/command.ts')).auth,
  },
  {
    name: 'kms',
    summary: 'starts the key management service: keys, and what is done with them',
    load: async () => (await import('./service/command.ts')).kms,
  },
  {
    name: 'kubernetes-kms',
    summary: 'serves the API server of Kubernetes as its KMS provider (v2)',
    load: async () => (await import('./kubernetes/command.ts')).kubernetesKms,
  },
  {
    name: 'completion',
    summary: 'prints a script by which a shell completes the words of warder',
    load: async () => (await import('./reference/completion.ts')).completionCommand(loadAll),
  },
  {
    name: 'man',
    summary: 'prints manual pages, or writes them into a folder',
    load: async () => (await import('./reference/man.ts')).manCommand(loadAll),
  },
]

/** Every command, for what tells about all of them. */
export function loadAll(): Promise<readonly Command[]> {
  return Promise.all(commands.map((entry) => entry.load()))
}
