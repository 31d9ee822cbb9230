import { StartupError, suggest } from '@warder/base'
import type { Command } from '../commands/command.ts'
import { optionsHelp, requireNoNames, requireOneName, type Values } from '../commands/options.ts'
import { createVerbHelp, defineVerb, formatVerbs, readVerb, type Verb, withVerb } from '../commands/verbs.ts'
import { type FoundLogin, findLogin, forgetLogin } from '../login/login-store.ts'
import { formatUserName, toServiceId } from '../login/stored-login.ts'
import { createShow, formatFacts, formatTable, formatTime, printable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import {
  type Context,
  type Contexts,
  deleteContext,
  findAuthority,
  localName,
  readContexts,
  selectContext,
} from './context-store.ts'

interface ContextRun {
  readonly contexts: Contexts
  readonly env: Terminal['env']
  /** Prints lines of text, or with `--json` one document. */
  show(document: unknown, lines: readonly string[]): void
}

interface ContextVerb extends Verb {
  /** Checks the arguments. @throws UsageError */
  parse(values: Values, names: readonly string[]): (run: ContextRun) => Promise<void>
}

const contextVerb = defineVerb<ContextVerb>()

/** @throws StartupError when there is no context of this name */
function requireContext({ contexts }: Contexts, name: string): Context {
  const context = contexts.get(name)
  if (context !== undefined) return context
  const rest = contexts.size === 0 ? 'warder login --url URL creates one' : 'see warder context list'
  throw new StartupError(
    `there is no context '${printable(name)}': ${rest}${suggest(name, [...contexts.keys()])}`,
  )
}

/** Finds the stored login of a context; undefined also when its authority is missing. */
function findContextLogin({ contexts, env }: ContextRun, context: Context): FoundLogin | undefined {
  const caFile = findAuthority(contexts, context)
  const toId = (url: string) => toServiceId({ url, caFile })
  const auth = context.authUrl === undefined ? undefined : toId(context.authUrl)
  return findLogin(contexts.folder, { auth, kms: toId(context.url) }, env)
}

function formatLogin(login: FoundLogin | undefined): string {
  if (login === undefined) return ''
  const { facts } = login
  const until = facts.expiresAt === undefined ? '' : `, until ${formatTime(facts.expiresAt)}`
  return `${formatUserName(facts)}${until}`
}

/** Builds the document of a context for `--json`. */
function toDocument(run: ContextRun, name: string, context: Context) {
  const { facts } = findContextLogin(run, context) ?? {}
  return {
    name,
    current: run.contexts.current === name,
    url: context.url,
    auth_url: context.authUrl ?? null,
    ca_sha256: context.ca ?? null,
    login: facts === undefined ? null : { username: facts.username, realm: facts.realm ?? null },
  }
}

const list = contextVerb({
  name: 'list',
  words: '',
  summary: 'List the services that warder login --url remembered; * marks those that commands use',
  examples: ['warder context list'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async (run) => {
      const { contexts, current } = run.contexts
      const rows = [...contexts].map(([name, context]) => [
        name,
        current === name ? '*' : '',
        context.url,
        context.authUrl ?? '',
        formatLogin(findContextLogin(run, context)),
      ])
      const local = [localName, current === undefined ? '*' : '', 'the home of the current folder', '', '']
      run.show(
        [...contexts].map(([name, context]) => toDocument(run, name, context)),
        formatTable(['CONTEXT', '', 'KMS', 'AUTH', 'LOGGED IN AS'], [...rows, local], ''),
      )
    }
  },
})

const use = contextVerb({
  name: 'use',
  words: 'NAME',
  summary: `Use these services in every folder; ${localName} means the home of the current folder`,
  examples: ['warder context use kms.example.com', `warder context use ${localName}`],
  options: {},
  parse(_, names) {
    const name = requireOneName(names, `context: warder context use NAME, or ${localName}`)
    return async ({ contexts, show }) => {
      const context = name === localName ? undefined : requireContext(contexts, name)
      selectContext(contexts, context === undefined ? undefined : name)
      show({ current: context === undefined ? null : name }, [
        context === undefined
          ? 'commands use the home of the current folder from now on'
          : `commands use ${name} (${context.url}) from now on`,
      ])
    }
  },
})

const showVerb = contextVerb({
  name: 'show',
  words: '[NAME]',
  summary: 'Show the addresses and the certificate authority of a context (default: the current one)',
  examples: ['warder context show'],
  options: {},
  parse(_, [named, ...rest]) {
    requireNoNames(rest)
    return async (run) => {
      const name = named ?? run.contexts.current
      if (name === undefined)
        throw new StartupError('commands use the home of the current folder: see warder context list')
      const context = requireContext(run.contexts, name)
      run.show(toDocument(run, name, context), [
        ...formatFacts([
          ['context', `${name}${run.contexts.current === name ? ' (current)' : ''}`],
          ['key management service', context.url],
          ['authentication service', context.authUrl ?? 'not known'],
          ['certificate authority', findAuthority(run.contexts, context) ?? 'those of the system'],
          ['its SHA-256', context.ca ?? ''],
          ['logged in as', formatLogin(findContextLogin(run, context)) || 'no user'],
        ]),
      ])
    }
  },
})

const remove = contextVerb({
  name: 'delete',
  words: 'NAME',
  summary: 'Forget the addresses and the certificate authority of services',
  examples: ['warder logout --context kms.example.com', 'warder context delete kms.example.com'],
  options: {
    force: {
      type: 'flag',
      help: 'also forgets a login; only on this machine: the session stays valid until it expires',
    },
  },
  parse({ force }, names) {
    const name = requireOneName(names, 'context: warder context delete NAME')
    return async (run) => {
      const context = requireContext(run.contexts, name)
      const login = force ? undefined : findContextLogin(run, context)
      if (login !== undefined)
        throw new StartupError(
          printable(
            `${formatUserName(login.facts)} is logged in: first run warder logout --context ${name}, or use --force`,
          ),
        )
      if (force) await forgetContextLogin(run, context)
      deleteContext(run.contexts, name)
      run.show({ deleted: name }, [`deleted the context ${name}`])
    }
  },
})

/** Forgets a login. If the authority file is missing, there is no login to forget, since none can be used. */
async function forgetContextLogin(run: ContextRun, context: Context): Promise<void> {
  let login: FoundLogin | undefined
  try {
    login = findContextLogin(run, context)
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
  }
  if (login !== undefined) await forgetLogin(login, run.env)
}

const verbs = [list, use, showVerb, remove]
const options = { json: { type: 'flag', help: 'prints one JSON document instead of text' } } as const

/** `warder context`: the services that commands use. */
export const context: Command = {
  name: 'context',
  summary: 'List and choose the services that commands use',
  about:
    'A context is the addresses and the certificate authority of services. warder login --url creates one and uses it in every folder.',
  verbs,
  options,
  help: `warder context VERB [OPTIONS]

A context is the addresses and the certificate authority of services. warder login --url creates one, named after its
host or by --context NAME, and uses it in every folder. Options (--url, --home), variables (WARDER_URL, WARDER_HOME) and
--context NAME have priority over the current context, which has priority over the home of the current folder.

${formatVerbs(verbs)}

  warder context VERB --help    show the help of one verb

${optionsHelp(options)}

Contexts are stored in the folder warder of XDG_CONFIG_HOME (default ~/.config), in files with mode 0600.

Example:
  warder login --url https://kms.example.com:9998 --auth-url https://auth.example.com:8443 --ca-file ca.crt --user ann
  warder context list
  warder context use ${localName}`,
  helpFor: createVerbHelp('context', verbs, optionsHelp(options)),
  async run(args, terminal) {
    const call = readVerb(verbs, options, args)
    const act = withVerb(call.verb, () => call.verb.parse(call.values, call.names))
    const { env } = terminal
    const contexts = readContexts(env)
    if (contexts === undefined)
      throw new StartupError(
        'there is no folder for contexts: set HOME, or XDG_CONFIG_HOME to an absolute path',
      )
    await act({ contexts, env, show: createShow(terminal, call.common.json) })
    return 0
  },
}
