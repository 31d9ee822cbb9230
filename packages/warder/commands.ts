import type { Command } from '@warder/command-line'

/** A command in the overview. Its code is loaded when it is called: most runs need one command only. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** A long-running command that runs beside services, with the lowest scheduling priority. */
  readonly background?: true
  load(): Promise<Command>
}

/** In the order of the overview. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'start',
    summary: 'Start both services; the first run creates everything that they need',
    load: async () => (await import('./start/command.ts')).start,
  },
  {
    name: 'try',
    summary: 'Try login, keys, encryption and signatures on the started services',
    load: async () => (await import('./try/command.ts')).tryOut,
  },
  {
    name: 'health',
    summary: 'Check whether both services of a home work',
    load: async () => (await import('./health/command.ts')).health,
  },
  {
    name: 'status',
    summary: 'Show nodes, certificates, backups, disks, databases and changed settings',
    load: async () => (await import('./status/command.ts')).status,
  },
  {
    name: 'unseal',
    summary: 'Enter your share of the root key at services that are sealed',
    load: async () => (await import('./unseal/command.ts')).unseal,
  },
  {
    name: 'login',
    summary: 'Log in once, for every command until the session ends',
    load: async () => (await import('./session/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'End the session of warder login',
    load: async () => (await import('./session/session.ts')).logout,
  },
  {
    name: 'whoami',
    summary: 'Show who is logged in, until when, how, and with which roles',
    load: async () => (await import('./session/session.ts')).whoami,
  },
  {
    name: 'account',
    summary: 'Show your account, enroll a second factor, get recovery codes',
    load: async () => (await import('@warder/command-line/account')).accountCommand,
  },
  {
    name: 'password',
    summary: 'Change your own password',
    load: async () => (await import('@warder/command-line/account')).password,
  },
  {
    name: 'context',
    summary: 'List and choose the services that commands use',
    load: async () => (await import('@warder/command-line/contexts')).context,
  },
  {
    name: 'keys',
    summary: 'Create, import, list, tag, rotate, disable and destroy keys',
    load: async () => (await import('./keys/command.ts')).keys,
  },
  {
    name: 'crypto',
    summary: 'Encrypt, decrypt, sign and verify files with keys of the key management service',
    load: async () => (await import('./crypto/command.ts')).crypto,
  },
  {
    name: 'access',
    summary: 'Grant, revoke, explain and report rights on keys',
    load: async () => (await import('./access/command.ts')).access,
  },
  {
    name: 'officers',
    summary: 'Approve operations by a quorum of crypto officers, and hold ceremonies',
    load: async () => (await import('./officers/command.ts')).officers,
  },
  {
    name: 'notify',
    summary: 'Test the receivers of notices',
    load: async () => (await import('./notify/command.ts')).notify,
  },
  {
    name: 'external',
    summary: 'Let clouds use keys that stay here, or cut them off',
    load: async () => (await import('./external/command.ts')).external,
  },
  {
    name: 'pki',
    summary: 'Run certificate authorities: issue, renew and revoke certificates',
    load: async () => (await import('./pki/command.ts')).pki,
  },
  {
    name: 'kmip',
    summary: 'Send KMIP messages, decode dumps, query servers, list devices, issue client certificates',
    load: async () => (await import('./kmip/command.ts')).kmip,
  },
  {
    name: 'admin',
    summary: 'List and change realms, users, machines and sessions',
    load: async () => (await import('./admin/command.ts')).admin,
  },
  {
    name: 'audit',
    summary: 'Search, count, verify, read, export, archive and prune the audit log',
    load: async () => (await import('./audit/command.ts')).audit,
  },
  {
    name: 'backup',
    summary: 'Back up the running installation into one encrypted file',
    background: true,
    load: async () => (await import('./backup/command.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'Restore a backup into an empty home and empty databases',
    load: async () => (await import('./backup/command.ts')).restoreCommand,
  },
  {
    name: 'drill',
    summary: 'Test a backup by restoring it into a temporary home',
    background: true,
    load: async () => (await import('./drill/command.ts')).drillCommand,
  },
  {
    name: 'root-key',
    summary: 'Show, test, rotate, move or recover the root key of the installation',
    load: async () => (await import('./root-key/command.ts')).rootKey,
  },
  {
    name: 'check',
    summary: 'Show what a start would refuse and what an upgrade would change',
    load: async () => (await import('./check/command.ts')).check,
  },
  {
    name: 'config',
    summary: 'Print, check and migrate settings',
    load: async () => (await import('./config/command.ts')).config,
  },
  {
    name: 'auth',
    summary: 'Start the authentication service',
    load: async () => (await import('./service/command.ts')).auth,
  },
  {
    name: 'kms',
    summary: 'Start the key management service',
    load: async () => (await import('./service/command.ts')).kms,
  },
  {
    name: 'kubernetes-kms',
    summary: 'Serve the Kubernetes API server as its KMS provider (v2)',
    load: async () => (await import('./kubernetes/command.ts')).kubernetesKms,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    load: async () => (await import('./reference/completion.ts')).completionCommand(loadAll),
  },
  {
    name: 'man',
    summary: 'Print manual pages, or write them into a folder',
    load: async () => (await import('./reference/man.ts')).manCommand(loadAll),
  },
]

/** Loads every command, for completion and manual pages. */
export function loadAll(): Promise<readonly Command[]> {
  return Promise.all(commands.map((entry) => entry.load()))
}
