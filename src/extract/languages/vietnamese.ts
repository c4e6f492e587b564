import type { Language } from './language.ts'

export const vietnamese: Language = {
  code: `mã xác nhận|mã xác thực|mã xác minh|mã otp|mã pin|mã bảo mật|mã an toàn|mã đăng nhập
    |mã kích hoạt|mã truy cập|mã khôi phục|mã đặt lại|mã mở tủ|mã mở|mã nhận hàng|mã nhận
    |mã lấy hàng|mã kiểm tra|mã một lần|mã dùng một lần|mã số xác nhận|mã số bí mật|mã bí mật
    |mã code|nhập mã|mã này|mã dưới đây|mã bên dưới|mã sau|mã của bạn|mã là|mã|dãy số|6 chữ số
    |6 số|4 chữ số|4 số|chữ số sau|chữ số dưới đây|chữ số bên dưới|các số sau|mật khẩu một lần
    |mật khẩu dùng một lần|mật khẩu tạm thời|mật khẩu kích hoạt|mật khẩu giao dịch|mật mã|otp
    |code|pin|token`,
  secret: 'mật khẩu',
  sale: `giảm giá|mã giảm giá|khuyến mãi|khuyến mại|mã khuyến mãi|ưu đãi|mã ưu đãi|giới thiệu
    |quà tặng|voucher|tặng|giảm`,
  other: `đơn hàng|mã đơn|mã đơn hàng|đặt chỗ|mã đặt chỗ|mã đặt phòng|mã đặt vé|vận đơn
    |mã vận đơn|mã giao dịch|mã khách hàng|mã số thuế|mã bưu chính|mã bưu điện|mã sản phẩm
    |mã vạch|mã qr|mã nguồn|mã lỗi|mã vùng|mã sinh viên|mã học viên|mã nhân viên|mã hồ sơ
    |mã tra cứu|mã số|mã vé|mã hóa đơn|mã chuyến|mã hàng|mã cổ phiếu|mã lớp|mã phòng|mã đại lý
    |mã cửa hàng|mã thành viên|mã hội viên|mã dự thưởng|mã chứng khoán|mã ngân hàng|mã chi nhánh
    |mã bệnh nhân|mã thẻ|mã báo danh|mã công ty|mã môn|mã trường|mã hợp đồng|mã nhóm|mã màu`,
  number: `hóa đơn|đặt vé|tra cứu|theo dõi|tham chiếu|giao dịch|tài khoản|số tài khoản|khách hàng
    |mst|hợp đồng|số cuối|4 số cuối|6 số cuối|đuôi số|điện thoại|đt|sđt|hotline|tổng đài|gọi
    |phòng|ghế|chuyến bay|chuyến|mẫu|sản phẩm|phiên bản|đường|phố|quận|phường|năm|số tiền
    |tổng cộng|tổng|số dư|điểm|chỉ số|kỳ|số thẻ|số báo danh|tủ số|trang`,
  purpose: `xác nhận|xác thực|xác minh|đăng nhập|đăng ký|kích hoạt|hiệu lực|hết hạn|không chia sẻ
    |không cung cấp|nhập|bảo mật|đặt lại mật khẩu|yêu cầu|khôi phục`,
  type: 'nhập|điền|gõ|bấm số|sao chép|hãy dùng|dùng|sử dụng',
  is: 'là|như sau|sau|dưới đây|bên dưới|sau đây|la',
  particle: 'của|cho|bạn|quý|khách|để|vào|tài|khoản|và|quý khách',
  unit: `giây|phút|giờ|ngày|tuần|tháng|năm|đồng|đ|vnd|nghìn|triệu|tỷ|km|kg|người|lần|điểm|ký tự
    |chữ số|sản phẩm|khách|vnđ|k`,
  verify: 'xác nhận|xác minh|xác thực|kích hoạt|hoàn tất đăng ký|chấp nhận lời mời',
  signIn: 'đăng nhập|liên kết đăng nhập',
  reset: 'đặt lại|đổi mật khẩu|mật khẩu mới|quên mật khẩu|khôi phục|tạo mật khẩu|thay đổi mật khẩu',
  unsubscribe: `hủy đăng ký|huỷ đăng ký|ngừng nhận|ngưng nhận|bỏ theo dõi|không muốn nhận
    |tùy chọn email|cài đặt thông báo|dừng nhận`,
  here: `đây|tại đây|bấm vào đây|nhấn vào đây|nhấp vào đây|liên kết|liên kết sau|nút|đường dẫn|mở
    |tiếp tục|bắt đầu|xem`,
}
