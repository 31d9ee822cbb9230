export { derInBase64, type PemLabel, pemText, privateKeyText, withoutByteOrderMark } from './pem-text.ts'
