export { type PemLabel, pemText, privateKeyText, withoutByteOrderMark } from './pem-text.ts'
