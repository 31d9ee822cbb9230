import { failure } from '@warder/base'

/** Key sets are fetched over https only; a user name or password in a URL would end up in logs. */
export function requireHttps(member: string, text: string): void {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw failure('bad_request', `${member}: must be an https URL without user name or password.`)
  }
}
