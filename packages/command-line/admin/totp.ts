import { StartupError } from '@warder/base'
import { confirmApp } from '../account/authenticator-app.ts'
import { requireOneName, UsageError } from '../commands/options.ts'
import { readSecretFile } from '../files.ts'
import { formatTime, printable } from '../terminal/table.ts'
import { describeUser } from './users.ts'
import { type AdminContext, adminVerb, realmOption } from './verb.ts'

const getTotpPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/totp`

interface Enrollment {
  readonly realm: string
  readonly username: string
  readonly issuer: string | undefined
}

/** Enrolls a secret after proof by one of its codes. @throws Refused when the code does not match */
async function enroll(
  { api }: AdminContext,
  { realm, username, issuer }: Enrollment,
  secret: string,
  code: string,
): Promise<void> {
  const body = {
    username,
    secret,
    token: code.replaceAll(/\s/g, ''),
    ...(issuer !== undefined && { issuer }),
  }
  await api.ask('POST', `${getTotpPath(realm)}/verify`, body)
}

/** Shows a new secret, and enrolls it after a code of the app was entered. */
async function enrollApp(context: AdminContext, enrollment: Enrollment): Promise<void> {
  const { api, prompter, note } = context
  const { realm, username, issuer } = enrollment
  if (!prompter.interactive)
    throw new StartupError(
      'a new secret is shown at a terminal only; for a secret that the device has: --secret-file FILE --code CODE',
    )
  const { secret_base32: secret, otpauth_url: url } = (await api.ask(
    'POST',
    `${getTotpPath(realm)}/generate`,
    {
      username,
      ...(issuer !== undefined && { issuer }),
    },
  )) as { readonly secret_base32: string; readonly otpauth_url: string }
  await confirmApp({ url, secret, owner: describeUser(realm, username) }, { prompter, note }, (code) =>
    enroll(context, enrollment, secret, code),
  )
}

export const enrollTotp = adminVerb({
  name: 'enroll-totp',
  words: 'NAME',
  summary: 'Enroll an authenticator app as the second factor of a user, with a QR code in the terminal',
  about: `Shows a new secret for the app of the user, and enrolls it after you have entered a code of the app. It replaces an app
that is enrolled. A person who sees the secret can compute the codes: enroll it in the presence of its owner.`,
  examples: [
    'warder admin enroll-totp ann --realm shop',
    'warder admin enroll-totp ann --realm shop --secret-file secret --code 123456',
  ],
  options: {
    realm: realmOption,
    issuer: { type: 'text', value: 'TEXT', help: 'name of the account in the app (default: the realm)' },
    'secret-file': {
      type: 'text',
      value: 'F',
      help: 'file with the base32 secret that a device already has; - is standard input',
    },
    code: { type: 'text', value: 'CODE', help: 'a code that this device shows' },
  },
  parse({ realm, issuer, 'secret-file': file, code }, names) {
    const username = requireOneName(names, 'user: warder admin enroll-totp NAME --realm R')
    if ((file === undefined) !== (code === undefined))
      throw new UsageError('--secret-file and --code must be given together')
    return async (context) => {
      const enrollment = { realm, username, issuer }
      if (file === undefined || code === undefined) await enrollApp(context, enrollment)
      else await enroll(context, enrollment, readSecretFile(file, 'the secret').replaceAll(/\s/g, ''), code)
      context.show({ totp_enabled: { realm, username } }, [
        `${describeUser(realm, username)} logs in with a code of the app from now on; each code works once`,
      ])
    }
  },
})

const defaultLinkHours = 24

export const linkTotp = adminVerb({
  name: 'totp-token',
  words: 'NAME',
  summary: 'Create a one-time token with which a user enrolls TOTP; you do not see the secret',
  about: `For users without a session, such as those who have lost their second factor. The user enters the token with warder
account enroll-totp --token-file, or on a page. It replaces earlier tokens of the user, and gives no session: a login
still requires the password.`,
  examples: ['warder admin totp-token ann --realm shop', 'warder account enroll-totp --token-file token'],
  options: {
    realm: realmOption,
    hours: {
      type: 'number',
      value: 'N',
      help: `hours until it expires, 1 to 168 (default ${defaultLinkHours})`,
    },
  },
  parse({ realm, hours = defaultLinkHours }, names) {
    const username = requireOneName(names, 'user: warder admin totp-token NAME --realm R')
    if (hours < 1 || hours > 168) throw new UsageError('--hours must be 1 to 168')
    return async ({ api, show }) => {
      const path = `${getTotpPath(realm)}/${encodeURIComponent(username)}/link`
      const link = (await api.ask('POST', path, { expires_in_seconds: hours * 3600 })) as {
        readonly token: string
        readonly expires_at: number
      }
      show({ realm, username, ...link }, [
        `token: ${printable(link.token)}    (shown once; until ${formatTime(link.expires_at)})`,
        `${describeUser(realm, username)} uses it with warder account enroll-totp --token-file FILE`,
      ])
    }
  },
})

export const disableTotp = adminVerb({
  name: 'disable-totp',
  words: 'NAME',
  summary: 'Remove the second factor of a user; logins then require only the password',
  examples: ['warder admin disable-totp ann --realm shop'],
  options: { realm: realmOption },
  parse({ realm }, names) {
    const username = requireOneName(names, 'user: warder admin disable-totp NAME --realm R')
    return async ({ api, show, confirm }) => {
      await confirm(`Remove the second factor of ${describeUser(realm, username)}?`)
      await api.ask('DELETE', `${getTotpPath(realm)}/${encodeURIComponent(username)}`)
      show({ totp_disabled: { realm, username } }, [
        `${describeUser(realm, username)} logs in without a TOTP code now`,
      ])
    }
  },
})
