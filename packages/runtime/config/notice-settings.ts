import {
  choice,
  integer,
  list,
  optionalText,
  type Setting,
  type SettingsTable,
  type SettingValues,
} from './setting.ts'

/** Receivers of notices. */
export const noticeSinks = ['webhook', 'email'] as const
export type NoticeSink = (typeof noticeSinks)[number]

/** Kinds of notices that every service has. */
export const commonNoticeKinds = ['audit.broken', 'backup.old'] as const

const maxRecipients = 50

/** An address that needs no quotes, in ASCII, so that a header or a command of SMTP can contain it unchanged. */
const mailAddress = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

/** An entry of `notices`, `KIND=SINK,SINK`. @returns a sentence for a wrong one */
export function readNoticeRoute(
  text: string,
  kinds: readonly string[],
): { readonly kind: string; readonly sinks: readonly NoticeSink[] } | string {
  const [kind = '', after, ...more] = text.split('=').map((part) => part.trim())
  if (after === undefined || more.length > 0)
    return `${JSON.stringify(text)} must be like approval.asked=webhook,email`
  if (kind !== '*' && !kinds.includes(kind))
    return `${JSON.stringify(kind)} is not a kind of notice; there are ${kinds.join(', ')}, and * for all others`
  if (after === 'none') return { kind, sinks: [] }
  const names = after.split(',').map((name) => name.trim())
  const wrong = names.find((name) => !noticeSinks.some((sink) => sink === name))
  if (wrong !== undefined)
    return `${JSON.stringify(wrong)} is not a receiver of notices: use ${noticeSinks.join(', ')}, or none`
  return { kind, sinks: noticeSinks.filter((sink) => names.includes(sink)) }
}

function routesProblem(routes: readonly string[], kinds: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (const text of routes) {
    const route = readNoticeRoute(text, kinds)
    if (typeof route === 'string') return route
    if (seen.has(route.kind)) return `must name ${route.kind} only once`
    seen.add(route.kind)
  }
  return undefined
}

function addressProblem(address: string): string | undefined {
  return mailAddress.test(address) && !address.includes('..')
    ? undefined
    : 'must be an address like security@example.com, without a name'
}

const host: Setting<string | undefined> = optionalText({
  docs: 'Mail server for notices; unset: no e-mail is sent. A private address requires `outbound_allow_private_networks`, unless it is 127.0.0.1, ::1 or localhost.',
  check: (name) =>
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|[0-9a-fA-F:.]{2,45})$/.test(name)
      ? undefined
      : 'must be a host name or an address, without a port',
})

/**
 * Settings of notices. @param kinds those of the service, besides the common ones
 * @param webhookDocs the settings of its webhook
 */
export function noticeSettings(kinds: readonly string[], webhookDocs: string) {
  const all = [...kinds, ...commonNoticeKinds]
  return {
    notices: list({
      default: [],
      separator: /[;\n]/,
      docs: `Receivers of notices by kind: \`KIND=webhook\`, \`KIND=email\`, \`KIND=webhook,email\` or \`KIND=none\`. Kinds: ${all.map((kind) => `\`${kind}\``).join(', ')}, and \`*\` for all others. ${webhookDocs} In the variable and the flag, separate entries by semicolons or line breaks.`,
      check: (routes) => routesProblem(routes, all),
    }),
    notice_from: optionalText({
      docs: 'Sender address of notices by e-mail; required with `smtp_host`.',
      check: addressProblem,
    }),
    notice_to: list({
      default: [],
      docs: `Addresses that receive notices by e-mail (at most ${maxRecipients}); required with \`smtp_host\`.`,
      check(addresses) {
        if (addresses.length > maxRecipients) return `must contain at most ${maxRecipients} addresses`
        return addresses.map(addressProblem).find((problem) => problem !== undefined)
      },
    }),
    notice_backup_hours: integer({
      default: 48,
      min: 1,
      max: 8760,
      docs: 'Age in hours of the last backup from which `backup.old` is sent, once a day.',
    }),
    smtp_host: host,
    smtp_port: integer({
      default: 587,
      min: 1,
      max: 65_535,
      docs: 'TCP port of the mail server; 465 is the usual one of `smtp_tls = "implicit"`.',
    }),
    smtp_tls: choice({
      default: 'starttls',
      choices: ['starttls', 'implicit', 'none'],
      docs: 'TLS to the mail server: by STARTTLS, without which nothing is sent, or from the start (`implicit`). `none` is permitted only for 127.0.0.1, ::1 and localhost.',
    }),
    smtp_username: optionalText({
      docs: 'User name for the mail server; unset: no authentication. Requires `smtp_password_file`.',
      check: (name) => (/^\P{Cc}{1,256}$/u.test(name) ? undefined : 'must contain no control characters'),
    }),
    smtp_password_file: optionalText({
      docs: 'File with that password, readable only by its owner (0600; owned by root: 0640). It is read for each message.',
    }),
    smtp_ca_file: optionalText({
      docs: 'Authorities (PEM) trusted for the mail server, in addition to the default ones; unset: those of `outbound_ca_file`.',
    }),
  } satisfies SettingsTable
}

export type NoticeConfig = SettingValues<ReturnType<typeof noticeSettings>>
