export { requireHttps } from './https-url.ts'
export { PlainText } from './plain-text.ts'
export {
  checkNewCredentialName,
  checkNewUsername,
  checkUsername,
  foldName,
  isNewUsername,
  isUsername,
  Username,
} from './username.ts'
